//! Bodies of the exchange of tokens, in the words of RFC 8693.

use serde::{Deserialize, Serialize};
use tabellion_engine::reply::PairToken;
use utoipa::ToSchema;

/// What an agent service asks for: to act for the user of this token.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TokenExchange)]
pub(crate) struct TokenExchangeBody {
    /// May be left out.
    #[serde(rename = "grant_type")]
    pub(crate) _grant_type: Option<GrantTypeWord>,
    /// The user's own API key, or a token of the issuer that names the user and no agent.
    #[schema(min_length = 1, max_length = 8192)]
    pub(crate) subject_token: String,
    /// May be left out.
    #[serde(rename = "subject_token_type")]
    pub(crate) _subject_token_type: Option<TokenTypeWord>,
    /// How many seconds the token is to hold; as long as it may unless given.
    #[schema(minimum = 1, maximum = 900)]
    pub(crate) expires_in: Option<u64>,
}

/// The one grant of this endpoint.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = GrantType)]
pub(crate) enum GrantTypeWord {
    /// RFC 8693.
    #[serde(rename = "urn:ietf:params:oauth:grant-type:token-exchange")]
    TokenExchange,
}

/// What sort of token is given.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = TokenType)]
pub(crate) enum TokenTypeWord {
    /// Of any form.
    #[serde(rename = "urn:ietf:params:oauth:token-type:access_token")]
    AccessToken,
    /// A JSON Web Token.
    #[serde(rename = "urn:ietf:params:oauth:token-type:jwt")]
    Jwt,
}

/// A token of the pair.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ExchangedToken)]
pub(crate) struct ExchangedTokenBody {
    /// The token, to be sent as the bearer.
    pub(crate) access_token: String,
    /// `urn:ietf:params:oauth:token-type:jwt`.
    pub(crate) issued_token_type: &'static str,
    /// `Bearer`.
    pub(crate) token_type: &'static str,
    /// For how many seconds it holds.
    #[schema(minimum = 0, maximum = 900)]
    pub(crate) expires_in: u64,
}

impl From<PairToken> for ExchangedTokenBody {
    fn from(pair: PairToken) -> Self {
        Self {
            access_token: pair.token,
            issued_token_type: "urn:ietf:params:oauth:token-type:jwt",
            token_type: "Bearer",
            expires_in: pair.seconds,
        }
    }
}
