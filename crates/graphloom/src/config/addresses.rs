//! Warns of addresses, set by the current folder, to which keys or documents of the user would be sent.

use super::{Service, Settings, keys};

/// Returns warnings about API keys and user documents that would be sent to an address set in the current
/// folder. A cloned repository could steal them that way. Addresses on this machine are harmless.
pub(super) fn warnings(settings: &Settings) -> Vec<String> {
    let mut warnings = Vec::new();
    for store in settings.get("store").into_iter().chain(settings.stores.values()) {
        if !settings.is_of_project(store) || is_database_here(&store.value) {
            continue;
        }
        warnings.push(format!(
            "what you add would be stored in the database at {}, an address set by this folder ({}); if you trust it, set \
             GRAPHLOOM_STORE in the environment, otherwise remove it from the folder",
            host_of(&store.value),
            store.origin
        ));
    }
    for service in Service::ALL {
        let Some(key) = service.secret_key().and_then(|key| settings.get(key)) else { continue };
        let Some(address) = settings.get(service.address_key()) else { continue };
        if settings.is_of_project(address) && !settings.is_of_project(key) && !is_loopback(&address.value) {
            let variable = keys::find(service.address_key()).map_or_else(String::new, keys::Key::variable);
            warnings.push(format!(
                "your {} key ({}) would be sent to {}, an address set by this folder ({}); if you trust it, set \
                 {variable} in the environment, otherwise remove it from the folder",
                service.name(),
                key.origin,
                host_of(&address.value),
                address.origin
            ));
        }
    }
    warnings
}

/// Returns the host, and the port if present, of an address as written, without user and password.
fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    // In browsers and HTTP libraries, any of these characters ends the host, including the backslash.
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

fn is_loopback(address: &str) -> bool {
    let host = host_of(address);
    let name = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

/// True if a database address names only this machine. An address can name several hosts, also in its options.
fn is_database_here(address: &str) -> bool {
    let options = address.split_once('?').map_or("", |(_, options)| options);
    is_loopback(address) && !host_of(address).contains(',') && !options.contains("host")
}

#[cfg(test)]
mod tests {
    use super::super::{Surroundings, layers, load};

    /// Returns the warnings about addresses with these lines in `.env`, this `graphloom.toml` and these variables.
    fn check_warnings(dot_env: &str, file: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(".env"), dot_env).expect("written");
        std::fs::write(folder.path().join(layers::PROJECT_FILE), file).expect("written");
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let around = Surroundings {
            environment: environment.collect(),
            current_dir: folder.path().to_owned(),
            ..Surroundings::default()
        };
        load(&around).expect("valid").1.address_warnings
    }

    #[test]
    fn a_users_key_that_would_go_to_an_address_from_the_folder_causes_a_warning() {
        let key = ("OPENAI_API_KEY", "sk-very-secret");
        let warned = check_warnings("OPENAI_BASE_URL=https://me:pw@elsewhere.example/v1", "", &[key]);
        assert_eq!(warned.len(), 1);
        for part in
            ["openai", "elsewhere.example", ".env OPENAI_BASE_URL", "GRAPHLOOM_BASE_URL", "OPENAI_API_KEY"]
        {
            assert!(warned[0].contains(part), "{part}: {warned:?}");
        }
        assert!(!warned[0].contains("sk-very-secret") && !warned[0].contains("pw"));
        let file = "anthropic_base_url = \"https://elsewhere.example\"";
        assert_eq!(check_warnings("", file, &[("ANTHROPIC_API_KEY", "k")]).len(), 1);
        assert_eq!(check_warnings("", "base_url = \"http://localhost.elsewhere.example\"", &[key]).len(), 1);
        assert_eq!(check_warnings("", "base_url = \"http://localhost@elsewhere.example\"", &[key]).len(), 1);
    }

    #[test]
    fn a_database_named_by_the_folder_causes_a_warning_without_its_password() {
        let url = |address: &str| format!("store = \"postgres://ada:secret@{address}/x\"");
        for elsewhere in ["db.example", "localhost,db.example", "localhost.db.example"] {
            let warned = check_warnings("", &url(elsewhere), &[]);
            assert_eq!(warned.len(), 1, "{elsewhere}");
            assert!(warned[0].contains("GRAPHLOOM_STORE") && warned[0].contains(elsewhere), "{warned:?}");
            assert!(!warned[0].contains("secret"), "{warned:?}");
        }
        let option = "store = \"postgres://localhost/x?hostaddr=203.0.113.9\"";
        assert_eq!(check_warnings("", option, &[]).len(), 1);
        assert!(check_warnings("", &url("127.0.0.1:5432"), &[]).is_empty(), "this machine");
        let chosen = ("GRAPHLOOM_STORE", "postgres://db.example/x");
        assert!(check_warnings("", &url("db.example"), &[chosen]).is_empty(), "chosen");
    }

    #[test]
    fn an_address_that_the_user_chose_or_that_receives_no_key_causes_no_warning() {
        let (key, elsewhere) = (("OPENAI_API_KEY", "k"), "https://elsewhere.example/v1");
        let file = format!("base_url = {elsewhere:?}");
        assert!(check_warnings("", &file, &[]).is_empty(), "no key");
        assert!(check_warnings("", &file, &[("ANTHROPIC_API_KEY", "k")]).is_empty(), "another's key");
        assert!(check_warnings("OPENAI_API_KEY=theirs", &file, &[]).is_empty(), "the folder's own key");
        assert!(check_warnings("", &file, &[key, ("OPENAI_BASE_URL", elsewhere)]).is_empty(), "chosen");
        for local in ["http://localhost:8000/v1", "http://127.0.0.1:8000", "http://[::1]:8000/v1"] {
            assert!(check_warnings("", &format!("base_url = {local:?}"), &[key]).is_empty(), "{local}");
        }
    }
}
