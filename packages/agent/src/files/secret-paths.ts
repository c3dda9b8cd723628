// Which paths usually hold keys, passwords or tokens, by their names. Names are compared as the least strict
// file system compares them: without case, compatibility forms and invisible characters, so `.ＥＮＶ` is `.env`.
// Examples (`.env.example`) and public keys are no secrets.
import { ToolFailure } from '../tools/tool-failure.ts'

/** A name in the form in which names are compared. */
export const foldedName = (name: string): string =>
  name
    .normalize('NFKC')
    .replaceAll(/[\p{Cf}\p{Cc}]/gu, '')
    .toLowerCase()
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '')

/**
 * Folders whose files are all secret. `.beaver` contains the keys of the system and the records of all tasks.
 */
const secretFolders = new Set([
  '.beaver',
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.password-store',
])

const secretNames = [
  /^\.env(\..+)?$/,
  /^\.envrc$/,
  /^.+\.env$/,
  /^[._]netrc$/,
  /^\.(npmrc|yarnrc|pypirc|pgpass|my\.cnf|htpasswd|git-credentials|dockercfg|dockerconfigjson|vault-token|boto|s3cfg)$/,
  /^id_(rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk|xmss)([._-].+)?$/,
  /\.(pem|key|ppk|p12|pfx|pkcs12|jks|keystore|kdbx|nk|creds|ovpn|asc\.key|tfstate)$/,
  /^credentials?(\.(json|ya?ml|toml|ini|xml|csv|txt|db|properties))?$/,
  /^(client_)?secrets?\.(json|ya?ml|toml|ini|xml|txt|properties|env)$/,
  /^service[-_]account.*\.json$/,
  /^application_default_credentials\.json$/,
]

const examples = [
  /\.(example|sample|template|dist|defaults?)$/,
  /\.pub$/,
  /^\.env\.(example|sample|template|dist|defaults?)\b/,
]

/** Whether a path relative to the workspace, with `/`, names a file that usually holds secrets. */
export function isSecretPath(path: string): boolean {
  const names = path.split('/').map(foldedName)
  const last = names.at(-1) ?? ''
  if (names.slice(0, -1).some((name) => secretFolders.has(name))) return true
  return secretNames.some((secret) => secret.test(last)) && !examples.some((example) => example.test(last))
}

export const secretFile = (path: string): ToolFailure =>
  new ToolFailure(
    'secret_file',
    `${JSON.stringify(path.slice(0, 200))} is not read: files of this name usually hold keys or passwords. Do the work without it. A permission rule with a pattern for it would allow it.`,
  )
