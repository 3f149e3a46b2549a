//! Policy files, parsed and checked as far as they can be without the tools.

use std::path::Path;

use crate::{Compiled, ConfigError, Source, ToolFacts};

/// Parsed, checked files, not yet bound to tools.
pub struct Policies {}

/// Policies and what is worth a warning.
pub struct Loaded {
    pub policies: Policies,
    pub warnings: Vec<ConfigError>,
}

impl Policies {
    /// Every `*.yaml` of a folder.
    pub fn load(_dir: &Path) -> Result<Loaded, Vec<ConfigError>> {
        Self::parse(&[])
    }

    pub fn parse(_files: &[Source]) -> Result<Loaded, Vec<ConfigError>> {
        Ok(Loaded { policies: Self {}, warnings: Vec::new() })
    }

    /// Binds the rules to tools; names that no tool has are found here. Gives warnings beside the result.
    pub fn compile(&self, tools: &[ToolFacts]) -> Result<(Compiled, Vec<ConfigError>), Vec<ConfigError>> {
        let mut tools = tools.to_vec();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((Compiled { tools }, Vec::new()))
    }
}
