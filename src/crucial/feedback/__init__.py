"""What should rank above what: labels whose pairs stay implicit, explicit pairs, sums."""
