//! To come.
use super::api::Asked;
use super::error::ApiError;
use super::world::World;
use axum::extract::Request;
use bytes::Bytes;
use serde_json::Value;
pub const MAX_FILE: usize = 64 * 1024 * 1024;
pub async fn body(_: Request) -> Result<Bytes, String> {
    Err("no".into())
}
pub fn address(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn complete(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn info(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
pub fn delete(_: &mut World, _: &Asked<'_>) -> Result<Value, ApiError> {
    Err(ApiError::new("not_implemented"))
}
impl World {
    pub fn take_upload(&mut self, _: &str, _: Bytes) -> Result<(), (u16, String)> {
        Err((404, "no".into()))
    }
    pub fn download(&mut self, _: &str, _: Option<&str>) -> Result<(String, Bytes), u16> {
        Err(404)
    }
}
