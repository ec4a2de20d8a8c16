import { describe, expect, it } from 'vitest';
import { allowedEnvironment, isSecretName } from '../../../src/model/text/allowed-environment.ts';

const ENV = {
  PATH: '/bin',
  HOME: '/home/me',
  LC_ALL: 'C',
  https_proxy: 'http://proxy',
  NODE_EXTRA_CA_CERTS: '/ca.pem',
  SIGNALBOX_STATE_DIR: '/state',
  GIT_AUTHOR_NAME: 'me',
  GH_TOKEN: 'a',
  GITHUB_TOKEN: 'b',
  LINEAR_API_KEY: 'c',
  ANTHROPIC_API_KEY: 'd',
  AWS_SECRET_ACCESS_KEY: 'e',
  SSH_AUTH_SOCK: '/agent',
  npm_config_registry: 'http://registry',
  'npm_config_//registry/:_authToken': 'f',
  MY_OWN: 'g',
};

const given = (...asked: string[]) => Object.keys(allowedEnvironment(ENV, asked));

describe('the environment of an agent', () => {
  it('has what every program needs and nothing that opens a door', () => {
    expect(given()).toEqual([
      'PATH',
      'HOME',
      'LC_ALL',
      'https_proxy',
      'NODE_EXTRA_CA_CERTS',
      'SIGNALBOX_STATE_DIR',
      'GIT_AUTHOR_NAME',
      'npm_config_registry',
    ]);
  });

  it.each<[string, string, boolean]>([
    ['NIX_CONFIG', 'access-tokens = github.com=abcdefgh', false],
    ['NIX_PATH', 'nixpkgs=/nix/var', true],
    ['BUNDLE_GITHUB__COM', 'x-access-token:abcdefgh', false],
    ['BUNDLE_GEMS__EXAMPLE__COM', 'user:password', false],
    ['BUNDLE_BUILD__NOKOGIRI', '--use-system-libraries', true],
    ['BUNDLE_PATH', 'vendor', true],
    ['npm_config_registry', 'https://me:hunter22@registry/', false],
    ['GOPROXY', 'https://me:hunter22@proxy/', false],
    ['MAVEN_OPTS', '-Xmx1g -Dgithub.token=abcdefgh', false],
    ['MAVEN_OPTS', '-Dtoken=abcdefgh', false],
    ['MAVEN_OPTS', '-Xmx1g -Dhttp.proxyPassword=abc123456 -Dfile.encoding=UTF-8', false],
    ['GRADLE_OPTS', '-Djavax.net.ssl.keyStorePassword="two words"', false],
    ['GRADLE_OPTS', '-PreleaseSecret=abcdefgh', false],
    ['GRADLE_OPTS', '-Dsigning_passphrase=abcdefgh', false],
    ['MAVEN_ARGS', '--settings.apiKey=abcdefgh', false],
    ['MAVEN_OPTS', '-Xmx1g', true],
    ['MAVEN_OPTS', '-Dtokenizer=standard -Dpassword.file=/etc/x -Dsecret=no', true],
    ['GRADLE_OPTS', `-Pgpr=ghp_${'a1B2'.repeat(9)}`, false],
    ['HTTPS_PROXY', 'http://me:hunter22@proxy:8080', true],
    ['PATH', '/opt/secret:/usr/local/bin:/token:/usr/bin', true],
  ])('%s=%s reaches it: %s', (name, value, reaches) => {
    expect(name in allowedEnvironment({ [name]: value }, [])).toBe(reaches);
    expect(allowedEnvironment({ [name]: value }, [name])).toEqual({ [name]: value });
  });

  it.each<[string, string[], string[]]>([
    ['a name', ['GH_TOKEN'], ['GH_TOKEN']],
    ['a pattern', ['ANTHROPIC_*'], ['ANTHROPIC_API_KEY']],
    ['a pattern in the middle', ['AWS_*_KEY'], ['AWS_SECRET_ACCESS_KEY']],
    ['a name that is part of another', ['MY', 'TOKEN'], []],
    ['signs of patterns that are none', ['MY.OWN', '.*'], []],
  ])('has what is asked for by %s', (_, asked, more) => {
    expect(given(...asked).filter((name) => !given().includes(name))).toEqual(more);
  });
});

it.each<[string, boolean]>([
  ['GH_TOKEN', true],
  ['githubToken', true],
  ['OPENAI_API_KEY', true],
  ['DB_PASSWORD', true],
  ['PGPASSWORD', true],
  ['MYSQL_PWD', true],
  ['DB_PASS', true],
  ['MASTERKEY', true],
  ['CLIENTSECRET', true],
  ['PWD', false],
  ['OLDPWD', false],
  ['GIT_ASKPASS', false],
  ['COMPASS', false],
  ['HOTKEY', false],
  ['AWS_SECRET_ACCESS_KEY', true],
  ['GIT_AUTHOR_NAME', false],
  ['KEYBOARD', false],
  ['MONKEY', false],
  ['PATH', false],
])('%s is the name of a secret: %s', (name, secret) => {
  expect(isSecretName(name)).toBe(secret);
});
