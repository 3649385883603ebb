// SPDX-License-Identifier: MIT
//! The problems that convbench hands to its peers, and the values it fills their tensors with (see ../README.md).

use std::collections::HashMap;

pub struct Problem {
    words: HashMap<String, String>,
}

impl Problem {
    pub fn parse(text: &str) -> Self {
        let pairs = text.split_whitespace().filter_map(|word| word.split_once('='));
        let words = pairs.map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Problem { words }
    }

    pub fn word(&self, key: &str) -> Result<&str, String> {
        self.words.get(key).map(String::as_str).ok_or_else(|| format!("do a problem without {key}"))
    }

    pub fn number(&self, key: &str) -> Result<usize, String> {
        let word = self.word(key)?;
        word.parse().map_err(|_| format!("read {key}={word}"))
    }

    pub fn real(&self, key: &str) -> Result<f64, String> {
        let word = self.word(key)?;
        word.parse().map_err(|_| format!("read {key}={word}"))
    }

    /// The numbers of several keys.
    pub fn numbers<const N: usize>(&self, keys: [&str; N]) -> Result<[usize; N], String> {
        let mut numbers = [0; N];
        for (number, key) in numbers.iter_mut().zip(keys) {
            *number = self.number(key)?;
        }
        Ok(numbers)
    }
}

/// The values in [-1, 1) of a tensor: seed 1 is the input, 2 the weights, 3 the bias.
pub fn values(count: usize, seed: u32) -> Vec<f32> {
    let value = |index: usize| {
        let mut h = (index as u32).wrapping_mul(2654435761).wrapping_add(seed.wrapping_mul(2246822519));
        h = (h ^ (h >> 16)).wrapping_mul(3266489917);
        h ^= h >> 13;
        (h >> 8) as f32 / 8388608.0 - 1.0
    };
    (0..count).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_protocol() {
        assert_eq!(values(3, 1), [-0.15901601, 0.5419147, 0.5104797]);
    }

    #[test]
    fn keys_are_read_by_name() {
        let problem = Problem::parse("mode=nchw n=2 act=leaky a=0.5");
        assert_eq!(problem.numbers(["n"]), Ok([2]));
        assert_eq!(problem.real("a"), Ok(0.5));
        assert_eq!(problem.number("c"), Err("do a problem without c".to_string()));
        assert_eq!(problem.number("act"), Err("read act=leaky".to_string()));
    }
}
