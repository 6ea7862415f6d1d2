//! `[calibration]`: how writes for others are held against what is known.

use super::Config;
use serde::{Deserialize, Serialize};

/// How writes for others are held against what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Calibration {
    /// What a score does to a write.
    pub mode: CalibrationMode,
    /// Writes of an agent that may be kept apart at a time.
    pub staged_max: u32,
}

impl Default for Calibration {
    fn default() -> Self {
        let staged_max = tabellion_engine::Calibration::default().staged_max;
        Self { mode: CalibrationMode::default(), staged_max }
    }
}

/// What a score does to a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CalibrationMode {
    /// What is below the gate is kept apart until more is known.
    #[default]
    Gate,
    /// Writes are scored and weighed by it; none is kept back.
    Advise,
    /// Nothing is scored.
    Off,
}

impl Calibration {
    fn engine(self) -> tabellion_engine::Calibration {
        let mode = match self.mode {
            CalibrationMode::Gate => tabellion_engine::CalibrationMode::Gate,
            CalibrationMode::Advise => tabellion_engine::CalibrationMode::Advise,
            CalibrationMode::Off => tabellion_engine::CalibrationMode::Off,
        };
        let staged_max = self.staged_max;
        tabellion_engine::Calibration { mode, staged_max, ..tabellion_engine::Calibration::default() }
    }
}

impl Config {
    /// How the engine governs writes; the facts are read apart, because that takes a while.
    #[must_use]
    pub fn engine_governance(&self) -> tabellion_engine::Governance {
        tabellion_engine::Governance { calibration: self.calibration.engine(), ..self.governance.engine() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;

    fn mode(text: &str) -> Result<tabellion_engine::CalibrationMode, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tabellion.toml");
        std::fs::write(&file, text).unwrap();
        let config = Config::load(Some(&file), &Flags::default()).map_err(|error| error.to_string())?;
        Ok(config.engine_governance().calibration.mode)
    }

    /// CAL-30: what does not fit is kept apart unless the operator says otherwise.
    #[test]
    fn a_mode_reaches_the_engine() {
        use tabellion_engine::CalibrationMode as Mode;
        assert_eq!(mode(""), Ok(Mode::Gate));
        assert_eq!(mode("[calibration]\nmode = \"gate\""), Ok(Mode::Gate));
        assert_eq!(mode("[calibration]\nmode = \"advise\""), Ok(Mode::Advise));
        assert_eq!(mode("[calibration]\nmode = \"off\""), Ok(Mode::Off));
        assert!(mode("[calibration]\nmode = \"perhaps\"").unwrap_err().contains("perhaps"));
        assert!(mode("[calibration]\nprofile = \"ref\"").is_err(), "the profile is not for operators");
    }
}
