/** What every program may need to run at all, and nothing that opens a door. */
const ORDINARY: readonly string[] = [
  'PATH HOME USER LOGNAME SHELL PWD TMPDIR TMP TEMP',
  'LANG LANGUAGE LC_* TZ TERM TERMINFO TERMINFO_DIRS COLORTERM TERM_PROGRAM NO_COLOR FORCE_COLOR COLUMNS LINES',
  'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy',
  'SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_SSL_CAINFO GIT_SSL_CAPATH',
  'XDG_* CI WSL_* LD_LIBRARY_PATH DYLD_LIBRARY_PATH PKG_CONFIG_PATH NIX_*',
  'NODE_OPTIONS NODE_PATH NODE_ENV NVM_* FNM_* VOLTA_HOME N_PREFIX COREPACK_* PNPM_HOME BUN_INSTALL DENO_DIR',
  'JAVA_HOME MAVEN_* GRADLE_* GOPATH GOROOT GOPROXY GOFLAGS CARGO_HOME RUSTUP_* PYENV_* VIRTUAL_ENV PYTHON*',
  'RBENV_* GEM_* BUNDLE_* ASDF_* MISE_* SDKMAN_* ANDROID_HOME ANDROID_SDK_ROOT npm_config_*',
  'GIT_AUTHOR_* GIT_COMMITTER_* GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM GIT_TERMINAL_PROMPT',
  'SIGNALBOX_*',
].flatMap((line) => line.split(' '));

/** Names whose values are secrets, whatever they look like. */
const SECRET_NAME =
  /(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEY|PRIVATE_?KEY|AUTH|KEY|PAT)(?:_|$)|_authToken|TOKEN$|APIKEY$/i;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/**
 * The part of an environment that an agent gets: what every program needs, and what is asked for by name or pattern.
 * A secret is never among what every program needs, whatever it is called.
 */
export function allowedEnvironment(
  env: Readonly<Record<string, string>>,
  asked: readonly string[],
): Record<string, string> {
  const ordinary = matcher(ORDINARY);
  const wanted = matcher(asked);
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => wanted(name) || (ordinary(name) && !isSecretName(name))),
  );
}

/** `*` stands for any text. */
function matcher(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.includes('*')));
  const rules = patterns
    .filter((pattern) => pattern.includes('*'))
    .map((pattern) => new RegExp(`^${pattern.replace(/[^A-Za-z0-9_*]/g, '\\$&').replaceAll('*', '.*')}$`));
  return (name) => exact.has(name) || rules.some((rule) => rule.test(name));
}
