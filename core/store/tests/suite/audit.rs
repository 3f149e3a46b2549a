//! Cases of the audit trail.

use contract::{
    CallId, Code, Platform, TurnId,
    records::{AuditEvent, AuditQuery},
};

use crate::ground::Ground;

fn event(turn: TurnId, call: u32, tool: &str, tenant: &str, code: Option<Code>) -> AuditEvent {
    AuditEvent {
        turn,
        call: CallId(call),
        at_ms: turn.at_ms() + 5,
        tool: tool.into(),
        platform: Platform::Slack,
        tenant: tenant.into(),
        code,
        text: format!("{{\"call\":{call}}}").into(),
    }
}

pub async fn an_event_is_kept_once_and_found_by_what_it_is_of(ground: Ground) {
    let stores = ground.open("a").await;
    let (first, second) = (TurnId::new(), TurnId::new());
    let events = [
        event(first, 1, "weather", "a:b", None),
        event(first, 2, "orders", "a:b", Some(Code::Timeout)),
        event(second, 1, "weather", "c", Some(Code::Denied)),
    ];
    stores.audit.audit(&events).await.unwrap();
    stores.audit.audit(&events[..2]).await.unwrap();
    let found = async |query: AuditQuery| {
        let mut found = stores.audit.audited(&query).await.unwrap();
        found.sort_by_key(|event| (event.at_ms, event.turn, event.call));
        found
    };
    let all = found(AuditQuery::default()).await;
    assert_eq!(all.len(), 3);
    assert!(events.iter().all(|event| all.contains(event)));
    let is = |n: &[usize]| n.iter().map(|n| events[*n].clone()).collect::<Vec<_>>();
    assert_eq!(found(AuditQuery { turn: Some(first), ..AuditQuery::default() }).await, is(&[0, 1]));
    assert_eq!(found(AuditQuery { tool: Some("orders".into()), ..AuditQuery::default() }).await, is(&[1]));
    assert_eq!(found(AuditQuery { tenant: Some("c".into()), ..AuditQuery::default() }).await, is(&[2]));
    assert_eq!(found(AuditQuery { failed: true, ..AuditQuery::default() }).await.len(), 2);
    assert_eq!(found(AuditQuery { platform: Some(Platform::Telegram), ..AuditQuery::default() }).await, is(&[]));
    assert_eq!(found(AuditQuery { since_ms: Some(u64::MAX >> 20), ..AuditQuery::default() }).await, is(&[]));
    assert_eq!(found(AuditQuery { most: 1, ..AuditQuery::default() }).await.len(), 1);
}
