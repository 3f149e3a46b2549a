//! Forecasts.

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use jiff::{ToSpan, tz::TimeZone};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Shared, draw, refuse};

/// A place, its other names, its country and its mean temperature.
struct City {
    name: &'static str,
    also: &'static [&'static str],
    country: &'static str,
    mean: i32,
}

const CITIES: &[City] = &[
    City { name: "上海", also: &["shanghai"], country: "中国", mean: 18 },
    City { name: "北京", also: &["beijing", "peking"], country: "中国", mean: 13 },
    City { name: "深圳", also: &["shenzhen"], country: "中国", mean: 23 },
    City { name: "广州", also: &["guangzhou", "canton"], country: "中国", mean: 22 },
    City { name: "成都", also: &["chengdu"], country: "中国", mean: 17 },
    City { name: "杭州", also: &["hangzhou"], country: "中国", mean: 17 },
    City { name: "香港", also: &["hong kong", "hongkong"], country: "中国", mean: 24 },
    City { name: "東京", also: &["tokyo", "东京"], country: "日本", mean: 16 },
    City { name: "Singapore", also: &["新加坡"], country: "Singapore", mean: 28 },
    City { name: "Berlin", also: &["柏林"], country: "Germany", mean: 10 },
    City { name: "Zürich", also: &["zurich"], country: "Switzerland", mean: 10 },
    City { name: "London", also: &["伦敦"], country: "United Kingdom", mean: 11 },
    City { name: "Paris", also: &["巴黎"], country: "France", mean: 12 },
    City { name: "Lisbon", also: &["lisboa"], country: "Portugal", mean: 17 },
    City { name: "Oslo", also: &[], country: "Norway", mean: 6 },
    City { name: "New York", also: &["nyc", "纽约"], country: "United States", mean: 13 },
    City { name: "San Francisco", also: &["sf", "旧金山"], country: "United States", mean: 14 },
    City { name: "São Paulo", also: &["sao paulo"], country: "Brazil", mean: 20 },
    City { name: "Nairobi", also: &[], country: "Kenya", mean: 19 },
    City { name: "Sydney", also: &["悉尼"], country: "Australia", mean: 18 },
];

const SKIES: &[(&str, &str)] = &[
    ("sunny", "晴"),
    ("partly cloudy", "多云"),
    ("cloudy", "阴"),
    ("light rain", "小雨"),
    ("showers", "阵雨"),
    ("thunderstorm", "雷阵雨"),
];

#[derive(Deserialize)]
pub(super) struct Asked {
    city: String,
    #[serde(default = "one")]
    days: u32,
}

fn one() -> u32 {
    1
}

pub(super) async fn forecast(State(shared): State<Shared>, Query(asked): Query<Asked>) -> Response {
    shared.count("weather");
    let Some(city) = find(&asked.city) else {
        return refuse(StatusCode::NOT_FOUND, format!("no weather station in '{}'", asked.city));
    };
    if !(1..=7).contains(&asked.days) {
        return refuse(StatusCode::BAD_REQUEST, "days must be from 1 to 7");
    }
    let days: Vec<_> = (0..asked.days).map(|day| one_day(city, day)).collect();
    Json(json!({ "city": city.name, "country": city.country, "days": days })).into_response()
}

fn find(name: &str) -> Option<&'static City> {
    let name = name.trim().trim_end_matches('市').to_lowercase();
    CITIES.iter().find(|city| city.name.to_lowercase() == name || city.also.contains(&name.as_str()))
}

fn one_day(city: &City, day: u32) -> Value {
    let sky = draw(city.name, day) as usize % SKIES.len();
    let high = city.mean + 3 + (draw(city.name, day + 100) % 6) as i32;
    let low = city.mean - 4 + (draw(city.name, day + 200) % 4) as i32;
    let rain = if sky < 3 { 0.0 } else { f64::from(draw(city.name, day + 300) % 180) / 10.0 + 0.5 };
    let (english, chinese) = SKIES[sky];
    let words = if city.country == "中国" { chinese } else { english };
    let date = jiff::Timestamp::now().to_zoned(TimeZone::UTC).date().saturating_add(i64::from(day).days());
    json!({ "date": date.to_string(), "sky": words, "high_c": high, "low_c": low, "rain_mm": rain })
}
