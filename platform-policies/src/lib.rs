//! Who may call what: policy files, labels, tenants and the one function that permits
