//! To come.
use super::api::Asked;
use super::error::ApiError;
use super::world::World;
use serde_json::Value;
pub fn about(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn list(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn list_own(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn members(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn history(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn replies(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn open(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn join(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn leave(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
