//! What a statement rests on: cited sources and the digest of what was seen there.

use serde::{Deserialize, Serialize};

/// A cited source, as it is kept in a provenance record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What sort of source.
    pub source_type: SourceType,
    /// Where it is.
    pub source_uri: String,
    /// Which edition of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_version: Option<String>,
    /// When it was read, RFC 3339.
    pub accessed_at: String,
    /// How much it counts, 0 to 1, never above what its type allows.
    pub authority: f64,
    /// The words that support the statement.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub excerpt: Option<String>,
    /// SHA-256 of those words, hex.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub excerpt_hash: Option<String>,
    /// The item it quotes, for evidence from memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_item_id: Option<String>,
}

/// What sort of source an evidence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceType {
    /// A document.
    Document,
    /// The answer of a service.
    ApiResponse,
    /// The output of a tool.
    ToolOutput,
    /// A person's own words.
    HumanInput,
    /// A model's conclusion.
    AgentReasoning,
    /// The result of running code.
    CodeExecution,
    /// Another item.
    MemoryItem,
}

impl SourceType {
    /// The words that name the types.
    pub const WORDS: &'static str =
        "document, api_response, tool_output, human_input, agent_reasoning, code_execution, memory_item";

    /// The type that this word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
    }

    /// The most that a source of this type counts; a writer may only lower it.
    #[must_use]
    pub const fn authority_max(self) -> f64 {
        match self {
            Self::Document => 0.85,
            Self::HumanInput | Self::CodeExecution => 0.95,
            Self::ApiResponse => 0.9,
            Self::ToolOutput | Self::MemoryItem => 0.8,
            Self::AgentReasoning => 0.3,
        }
    }
}

impl SourceType {
    /// The most that a source of this type counts if it is known to be official.
    #[must_use]
    pub const fn authority_official(self) -> f64 {
        match self {
            Self::Document => 1.0,
            Self::HumanInput
            | Self::CodeExecution
            | Self::ApiResponse
            | Self::ToolOutput
            | Self::MemoryItem
            | Self::AgentReasoning => self.authority_max(),
        }
    }
}

/// How close the evidence of a version is to the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceQuality {
    /// Someone was there: a person's words, a measurement, a run.
    Primary,
    /// Someone wrote it down: a document, a service.
    Secondary,
    /// It follows from other items.
    Derived,
    /// Nothing outside the agent supports it.
    Inferred,
}

impl EvidenceQuality {
    /// The quality of a set of evidence: that of its best member.
    #[must_use]
    pub fn of(evidence: &[Evidence]) -> Self {
        evidence
            .iter()
            .map(|one| Self::of_type(one.source_type))
            .min_by_key(|quality| *quality as u8)
            .unwrap_or(Self::Inferred)
    }

    const fn of_type(source: SourceType) -> Self {
        match source {
            SourceType::HumanInput | SourceType::CodeExecution | SourceType::ToolOutput => Self::Primary,
            SourceType::Document | SourceType::ApiResponse => Self::Secondary,
            SourceType::MemoryItem => Self::Derived,
            SourceType::AgentReasoning => Self::Inferred,
        }
    }
}
