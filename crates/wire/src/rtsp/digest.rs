//! Digest authentication, as cameras ask for it (RFC 2617; with MD5, which RFC 7616 still has, because they know no other).

use md5::{Digest, Md5};

/// The most characters of a parameter that is taken.
const MOST_CHARACTERS: usize = 1_024;

/// Who may see a stream.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub user: String,
    /// Its password.
    pub password: String,
}

/// What a server asks with (WWW-Authenticate, RFC 2617, section 3.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Which accounts it means.
    pub realm: String,
    /// A text of its own that goes into the answer.
    pub nonce: String,
    /// A text that comes back as it is.
    pub opaque: Option<String>,
    /// It understands answers of quality `auth`, which count requests.
    pub auth: bool,
    /// The answer before had an old nonce, but the right password.
    pub stale: bool,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Challenge {
    /// A challenge without any more than it needs.
    pub fn new(realm: &str, nonce: &str) -> Self {
        Self { realm: realm.to_owned(), nonce: nonce.to_owned(), opaque: None, auth: false, stale: false }
    }

    /// Reads the value of a field; `None` where it asks for something else, or for another algorithm than MD5.
    pub fn parse(value: &str) -> Option<Self> {
        let parameters = parameters(value)?;
        let get = |name: &str| parameters.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        if get("algorithm").is_some_and(|algorithm| !algorithm.eq_ignore_ascii_case("MD5")) {
            return None;
        }
        let auth = get("qop").map(|offered| offered.split(',').any(|one| one.trim().eq_ignore_ascii_case("auth")));
        // Of others, as auth-int, nothing is known here.
        (auth != Some(false)).then_some(())?;
        let stale = get("stale").is_some_and(|stale| stale.eq_ignore_ascii_case("true"));
        Some(Self { realm: get("realm")?, nonce: get("nonce")?, opaque: get("opaque"), auth: auth.is_some(), stale })
    }

    /// The value of its field.
    pub fn emit(&self) -> String {
        let mut text = format!("Digest realm={}, nonce={}", quoted(&self.realm), quoted(&self.nonce));
        if let Some(opaque) = &self.opaque {
            text += &format!(", opaque={}", quoted(opaque));
        }
        if self.auth {
            text += ", qop=\"auth\"";
        }
        if self.stale {
            text += ", stale=true";
        }
        text
    }

    /// The answer of an account for a request (the value of Authorization, RFC 2617, section 3.2.2). `count` is how many
    /// requests were answered with this nonce, this one included, and `client_nonce` a text of the client's own, which an answer
    /// of quality `auth` needs.
    pub fn answer(&self, account: &Account, method: &str, uri: &str, count: u32, client_nonce: &str) -> String {
        let quality = self.auth.then(|| (format!("{count:08x}"), client_nonce));
        let of_quality = quality.as_ref().map(|(count, nonce)| (count.as_str(), *nonce));
        let response = self.response(account, method, uri, of_quality);
        let mut text = format!(
            "Digest username={}, realm={}, nonce={}, uri={}, response=\"{response}\"",
            quoted(&account.user),
            quoted(&self.realm),
            quoted(&self.nonce),
            quoted(uri),
        );
        if let Some(opaque) = &self.opaque {
            text += &format!(", opaque={}", quoted(opaque));
        }
        if let Some((count, nonce)) = of_quality {
            text += &format!(", qop=auth, nc={count}, cnonce={}", quoted(nonce));
        }
        text
    }

    /// Whether the value of an Authorization is the answer of this account for this request to this challenge. The URL in it has to
    /// be that of the request (RFC 2617, section 3.2.2.5), or one above it: live555 answers for a session's URL when it sets up one
    /// of its streams.
    pub fn accepts(&self, authorization: &str, account: &Account, method: &str, requested: &str) -> bool {
        let Some(parameters) = parameters(authorization) else { return false };
        let get = |name: &str| parameters.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
        let quality = match get("qop") {
            None if !self.auth => None,
            Some(quality) if self.auth && quality.eq_ignore_ascii_case("auth") => {
                let (Some(count), Some(nonce)) = (get("nc"), get("cnonce")) else { return false };
                Some((count, nonce))
            }
            _ => return false,
        };
        let (Some(uri), Some(response)) = (get("uri"), get("response")) else { return false };
        let is_ours = is_at_or_below(requested, uri)
            && get("username") == Some(&account.user)
            && get("realm") == Some(&self.realm)
            && get("nonce") == Some(&self.nonce);
        // Compared to the end, however soon it differs, so that the time says nothing.
        let expected = self.response(account, method, uri, quality);
        let differs = response.bytes().zip(expected.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
        is_ours && response.len() == expected.len() && differs == 0
    }

    /// request-digest of RFC 2617, section 3.2.2.1; without quality as in RFC 2069.
    fn response(&self, account: &Account, method: &str, uri: &str, quality: Option<(&str, &str)>) -> String {
        let secret = hex(&format!("{}:{}:{}", account.user, self.realm, account.password));
        let request = hex(&format!("{method}:{uri}"));
        match quality {
            None => hex(&format!("{secret}:{}:{request}", self.nonce)),
            Some((count, nonce)) => hex(&format!("{secret}:{}:{count}:{nonce}:auth:{request}", self.nonce)),
        }
    }
}

/// Whether a URL is another one or names something below it, with slashes at the end or without.
fn is_at_or_below(requested: &str, uri: &str) -> bool {
    // A host has more than one name.
    let path = |uri: &str| {
        uri.split_once("://").map_or(uri, |(_, behind)| behind.find('/').map_or("", |at| &behind[at..])).to_owned()
    };
    let (requested, uri) = (path(requested), path(uri));
    let below = requested.trim_end_matches('/').strip_prefix(uri.trim_end_matches('/'));
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// MD5 of a text, in hexadecimal digits of lower case.
fn hex(text: &str) -> String {
    Md5::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A quoted string (RFC 2617, section 1.2).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The parameters of a value of the scheme Digest, with names in lower case; `None` where it is of another one, or not well
/// formed.
fn parameters(value: &str) -> Option<Vec<(String, String)>> {
    let (scheme, mut rest) = value.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("Digest") {
        return None;
    }
    let mut parameters = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return Some(parameters);
        }
        let (name, after) = rest.split_once('=')?;
        let (value, after) = text(after.trim_start())?;
        if value.len() > MOST_CHARACTERS {
            return None;
        }
        parameters.push((name.trim().to_ascii_lowercase(), value));
        rest = after;
    }
}

/// A quoted string or a token, and what follows it.
fn text(from: &str) -> Option<(String, &str)> {
    let Some(inside) = from.strip_prefix('"') else {
        let end = from.find([',', ' ', '\t']).unwrap_or(from.len());
        return Some((from[..end].to_owned(), &from[end..]));
    };
    let (mut value, mut characters) = (String::new(), inside.char_indices());
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &inside[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str, password: &str) -> Account {
        Account { user: user.to_owned(), password: password.to_owned() }
    }

    #[test]
    fn the_example_of_the_document_has_its_response() {
        // RFC 2617, section 3.5.
        let challenge = "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", \
                         nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"";
        let challenge = Challenge::parse(challenge).unwrap();
        let mufasa = account("Mufasa", "Circle Of Life");
        let answer = challenge.answer(&mufasa, "GET", "/dir/index.html", 1, "0a4f113b");
        assert!(answer.contains("response=\"6629fae49393a05397450978507c4ef1\""), "{answer}");
        assert!(answer.contains("qop=auth, nc=00000001, cnonce=\"0a4f113b\""), "{answer}");
        assert!(challenge.accepts(&answer, &mufasa, "GET", "/dir/index.html"));
    }

    #[test]
    fn an_answer_is_of_one_account_one_method_and_one_nonce() {
        for auth in [false, true] {
            let challenge = Challenge { auth, ..Challenge::new("a \"realm\"", "nonce") };
            let read = Challenge::parse(&challenge.emit()).unwrap();
            assert_eq!(read, challenge);
            let (user, uri) = (account("user", "pass\\word"), "rtsp://host/movie");
            let answer = challenge.answer(&user, "DESCRIBE", uri, 2, "of the client");
            assert!(challenge.accepts(&answer, &user, "DESCRIBE", uri));
            assert!(!challenge.accepts(&answer, &user, "SETUP", uri));
            for (requested, is_meant) in
                [("rtsp://host/movie/", true), ("rtsp://host/movie/track0", true), ("rtsp://host/movies", false)]
            {
                assert_eq!(challenge.accepts(&answer, &user, "DESCRIBE", requested), is_meant, "{requested}");
            }
            assert!(!challenge.accepts(&answer, &user, "DESCRIBE", "rtsp://host/other"));
            assert!(challenge.accepts(&answer, &user, "DESCRIBE", "rtsp://another.name:554/movie"));
            assert!(!challenge.accepts(&answer, &user, "DESCRIBE", "rtsp://host/"));
            assert!(!challenge.accepts(&answer, &account("user", "password"), "DESCRIBE", uri));
            assert!(!challenge.accepts(&answer, &account("other", "pass\\word"), "DESCRIBE", uri));
            assert!(
                !Challenge { nonce: "another".to_owned(), ..challenge.clone() }
                    .accepts(&answer, &user, "DESCRIBE", uri)
            );
            assert!(!Challenge { auth: !auth, ..challenge.clone() }.accepts(&answer, &user, "DESCRIBE", uri));
        }
        assert!(!format!("{:?}", account("user", "secret")).contains("secret"));
    }

    #[test]
    fn what_is_no_challenge_or_asks_for_more_is_none() {
        for value in [
            "",
            "Basic realm=\"x\"",
            "Digest realm=\"x\"",
            "Digest realm=\"x, nonce=\"y\"",
            "Digest realm=\"x\", nonce=\"y\", algorithm=SHA-256",
            "Digest realm=\"x\", nonce=\"y\", qop=\"auth-int\"",
        ] {
            assert_eq!(Challenge::parse(value), None, "{value}");
        }
        let long = format!("Digest realm=\"{}\", nonce=\"y\"", "x".repeat(2_000));
        assert_eq!(Challenge::parse(&long), None);
        assert!(Challenge::parse("digest Realm=x,nonce=y , algorithm=\"md5\", stale=TRUE").unwrap().stale);
    }
}
