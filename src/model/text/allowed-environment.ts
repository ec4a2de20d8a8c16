/** Variables that programs need to run. None of them gives access to anything. */
const ORDINARY_VARIABLES: readonly string[] = [
  'PATH HOME USER LOGNAME SHELL PWD TMPDIR TMP TEMP',
  'LANG LANGUAGE LC_* TZ TERM TERMINFO TERMINFO_DIRS COLORTERM TERM_PROGRAM NO_COLOR FORCE_COLOR COLUMNS LINES',
  'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy',
  'SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_SSL_CAINFO GIT_SSL_CAPATH',
  'XDG_* CI WSL_* LD_LIBRARY_PATH DYLD_LIBRARY_PATH PKG_CONFIG_PATH',
  'NIX_PATH NIX_PROFILES NIX_SSL_CERT_FILE NIX_REMOTE NIX_STORE NIX_STATE_DIR NIX_USER_* NIX_LD* NIX_CC* NIX_CFLAGS_*',
  'NODE_OPTIONS NODE_PATH NODE_ENV NVM_* FNM_* VOLTA_HOME N_PREFIX COREPACK_* PNPM_HOME BUN_INSTALL DENO_DIR',
  'JAVA_HOME MAVEN_* GRADLE_* GOPATH GOROOT GOPROXY GOFLAGS CARGO_HOME RUSTUP_* PYENV_* VIRTUAL_ENV PYTHON*',
  'BUNDLE_PATH BUNDLE_GEMFILE BUNDLE_WITH* BUNDLE_JOBS BUNDLE_RETRY BUNDLE_FROZEN BUNDLE_DEPLOYMENT BUNDLE_BUILD__*',
  'BUNDLE_APP_CONFIG BUNDLE_BIN BUNDLE_CACHE_* BUNDLE_USER_* RBENV_* GEM_* ASDF_* MISE_* SDKMAN_* ANDROID_HOME ANDROID_SDK_ROOT npm_config_*',
  'GIT_AUTHOR_* GIT_COMMITTER_* GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM GIT_TERMINAL_PROMPT',
  'SIGNALBOX_*',
].flatMap((line) => line.split(' '));

/** Names whose values are secrets, whatever they look like. */
const SECRET_NAME = new RegExp(
  [
    '(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|CREDENTIALS?|CREDS?|AUTH|KEY|PAT)(?:_|$)',
    '(?:^|_)(?:API|PRIVATE)_?KEY(?:_|$)|_authToken',
    '(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE)$',
    // Not `PUBLIC_KEY`, `MONKEY` or `TURKEY`.
    '(?<!MON|DON|TUR|HOT|PUB|PUBLIC)KEY$',
    '(?:^|_)(?:PIN|DSN|JWT|BEARER|CONN(?:ECTION)?_?STR(?:ING)?)$',
    '(?:^|_)WEBHOOKS?(?:_(?:URL|URI|ENDPOINT|ADDRESS))?$',
    // `PWD` alone is the directory, and `PASS` also occurs inside ordinary words.
    '(?:^|_)PASS$|[^_]_PWD$|PW$',
  ].join('|'),
  'i',
);

/** Bundler has logins by host name (`BUNDLE_GITHUB__COM`), Nix in the text of its settings. */
const LOGIN_NAME = /^(?:NIX_CONFIG|BUNDLE_(?!BUILD__)[A-Z0-9_]*__[A-Z0-9_]*)$/;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || LOGIN_NAME.test(name);
}

/** A login inside the value of a variable with an ordinary name: in an address, an option or a setting. */
const LOGIN = new RegExp(
  [
    ':\\/\\/[^\\s/:@]*:[^\\s/@]+@|x-access-token:',
    '(?:access-tokens?|token|password|passwd|passphrase|secret|api[-_]?key)\\s*=\\s*(?:["\'][^"\']{6,}|\\S{6,})',
    '\\b(?:gh[pousr]_|github_pat_|glpat-)\\w{16,}',
  ].join('|'),
  'i',
);
/** A proxy needs its login, which is of no use elsewhere. */
const PROXY = /^(?:https?|all)_proxy$/i;

/**
 * The part of an environment that an agent gets: what every program needs, and what is asked for by name or pattern.
 * A variable with a secret's name, or with a login in its value, has to be asked for.
 */
export function allowedEnvironment(
  env: Readonly<Record<string, string>>,
  asked: readonly string[],
): Record<string, string> {
  const ordinary = matcher(ORDINARY_VARIABLES);
  const wanted = matcher(asked);
  const isHarmless = (name: string, value: string) =>
    ordinary(name) && !isSecretName(name) && (PROXY.test(name) || !LOGIN.test(value));
  const allowed = Object.entries(env).filter(([name, value]) => wanted(name) || isHarmless(name, value));
  return Object.fromEntries(allowed);
}

/** `*` matches any text. */
function matcher(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.includes('*')));
  const rules = patterns
    .filter((pattern) => pattern.includes('*'))
    .map((pattern) => new RegExp(`^${pattern.replace(/[^A-Za-z0-9_*]/g, '\\$&').replaceAll('*', '.*')}$`));
  return (name) => exact.has(name) || rules.some((rule) => rule.test(name));
}
