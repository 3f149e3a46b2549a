//! What a tool can call: HTTP, pipelines and native functions
