//! Stages that need nothing but the call: arguments that are filled in, personal data that is masked, long answers told in
//! short, and what attempts cost.

mod mask;
mod summary;

use async_trait::async_trait;
use serde_json::{Map, Value};

pub use mask::{Kind, Mask};
pub use summary::Summary;

use super::{Around, Changed, Next, Of, Request, Stopped};
use crate::{
    endpoint::{Cx, Output, ToolFailure},
    permitted::Permitted,
};

/// Arguments that are filled in where the caller left them out, of the tools that have such a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults(pub Map<String, Value>);

#[async_trait]
impl Request for Defaults {
    async fn request(&self, of: &Of, args: &Value) -> Result<Option<Changed>, Stopped> {
        let Some(given) = args.as_object() else { return Ok(None) };
        let has = |name: &str| of.tool.schema.properties().iter().any(|property| property.name == name);
        let missing: Vec<_> = self.0.iter().filter(|(name, _)| !given.contains_key(*name) && has(name)).collect();
        if missing.is_empty() {
            return Ok(None);
        }
        let mut filled = given.clone();
        filled.extend(missing.into_iter().map(|(name, value)| (name.clone(), value.clone())));
        Ok(Some(Value::Object(filled).into()))
    }
}

/// What each attempt costs, in millionths of the operator's currency: it stands on the call's node and is added to what its
/// turn took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    pub micros: u64,
}

#[async_trait]
impl Around for Cost {
    async fn around(&self, _: &Permitted, cx: &Cx<'_>, next: Next<'_>) -> Result<Output, ToolFailure> {
        // Before it: an attempt that is dropped has been paid for.
        cx.notes.cost(self.micros);
        next.run(cx).await
    }
}
