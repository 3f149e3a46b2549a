//! To come.
use super::api::Asked;
use super::error::ApiError;
use super::world::World;
use serde_json::Value;
pub fn start(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn append(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn stop(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
