"""RankBoost+ (Connamacher, Pancha, Liu & Ray 2019): boosting on E2 with one weight per pair."""
