// The shapes of well-known keys, as their issuers document them. A text of such a shape is a secret even if
// no process knows its value. Each shape begins with one of its `anchors`. `shape` is sticky: it matches
// where the anchor begins, and its first group, or else the whole match, is the secret. No shape backtracks
// without a bound, because the text may come from an attacker. A shape is strict: hashes, UUIDs, base64 of
// images, names of branches and placeholders in documentation are not secrets.

export interface SecretPattern {
  /** The name in the mark: `[secret:aws_access_key]`. */
  readonly name: string
  /** At least three ASCII characters each. */
  readonly anchors: readonly string[]
  readonly shape: RegExp
  /** Whether the anchor must be the start of a word. Default: true. */
  readonly wordStart?: boolean
  /**
   * What may follow the anchor of a secret that has not ended. Default: characters of ASCII without spaces.
   */
  readonly goesOn?: RegExp
  /** A further condition on the secret. */
  readonly accepts?: (secret: string) => boolean
}

const end = '(?![A-Za-z0-9_-])'
const sticky = (source: string, flags = ''): RegExp => new RegExp(source, `dy${flags}`)

/** A sign between a name and its value, with spaces, and one word. */
const oneSpace = /^[^\s\w]{0,8}\s{0,8}[^\s\w]{0,8}\s{0,8}[\x21-\x7e]*$/

const hasDigit = (secret: string): boolean => /\d/.test(secret)
/**
 * Whether it looks made by chance: it has letters and digits, and it is no name that a person would write.
 */
const isMixed = (secret: string): boolean => hasDigit(secret) && /[A-Za-z]/.test(secret)

const placeholder =
  /^(?:\*+|x+|\.+|\$.*|<.*|\{.*|%.*|\[.*|(?:my|your|the|some|example|sample|test|dummy|changeme|password|passwd|pass|secret|user|token|pw)[\w-]*)$/i

/** The passwords of documentation are none: `postgres://user:password@host`. */
function isCredential(userinfo: string): boolean {
  const password = userinfo.slice(userinfo.indexOf(':') + 1)
  return password.length >= 3 && !placeholder.test(password)
}

/**
 * The value of a variable like `DB_PASSWORD`: bits of entropy per character tell a secret from a word or a
 * path.
 */
function isRandom(text: string): boolean {
  const value = text.slice(0, 64)
  if (
    placeholder.test(value) ||
    !isMixed(value) ||
    /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(value) ||
    /^(?:[./~]|https?:)/.test(value)
  )
    return false
  const counts = new Map<string, number>()
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length)
  return bits >= 3.2
}

export const secretPatterns: readonly SecretPattern[] = [
  { name: 'anthropic_key', anchors: ['sk-ant-'], shape: sticky(`sk-ant-[A-Za-z0-9_-]{20,256}`) },
  {
    name: 'openai_key',
    anchors: ['sk-'],
    shape: sticky(`sk-(?:[A-Za-z0-9]+-){0,3}[A-Za-z0-9_-]{20,256}`),
    accepts: (secret) => hasDigit(secret) && (/[A-Z]/.test(secret) || /[0-9a-f]{24}/.test(secret)),
  },
  {
    name: 'aws_access_key',
    anchors: ['AKIA', 'ASIA', 'ABIA', 'ACCA'],
    shape: sticky(`A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}${end}`),
  },
  {
    name: 'aws_secret_key',
    anchors: ['ccess_key', 'ccessKey', 'CCESS_KEY'],
    wordStart: false,
    goesOn: oneSpace,
    shape: sticky(`ccess_?key["'\\s:=\\\\]{1,12}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])`, 'i'),
    accepts: isMixed,
  },
  {
    name: 'github_token',
    anchors: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    shape: sticky(`gh[pousr]_[A-Za-z0-9]{36,255}${end}`),
  },
  { name: 'github_token', anchors: ['github_pat_'], shape: sticky(`github_pat_[A-Za-z0-9_]{36,255}${end}`) },
  {
    name: 'gitlab_token',
    anchors: ['glpat-', 'gldt-', 'glrt-'],
    shape: sticky(`gl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,64}`),
  },
  {
    name: 'slack_token',
    anchors: ['xoxb-', 'xoxa-', 'xoxp-', 'xoxr-', 'xoxs-', 'xoxe-', 'xoxe.', 'xapp-'],
    shape: sticky(`x(?:ox[abeprs][-.]|app-)[A-Za-z0-9.-]{10,256}`),
    accepts: hasDigit,
  },
  {
    name: 'slack_webhook',
    anchors: ['hooks.slack.com/services/'],
    wordStart: false,
    shape: sticky(`hooks\\.slack\\.com/services/([A-Za-z0-9_]+/[A-Za-z0-9_]+/[A-Za-z0-9_]{16,64})`),
  },
  { name: 'google_key', anchors: ['AIza'], shape: sticky(`AIza[A-Za-z0-9_-]{35}${end}`) },
  { name: 'google_token', anchors: ['ya29.'], shape: sticky(`ya29\\.[A-Za-z0-9_-]{20,2048}`) },
  { name: 'google_secret', anchors: ['GOCSPX-'], shape: sticky(`GOCSPX-[A-Za-z0-9_-]{28}${end}`) },
  {
    name: 'stripe_key',
    anchors: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'],
    shape: sticky(`[sr]k_(?:live|test)_[A-Za-z0-9]{10,256}`),
  },
  { name: 'stripe_webhook', anchors: ['whsec_'], shape: sticky(`whsec_[A-Za-z0-9+/=]{24,128}`) },
  {
    name: 'sendgrid_key',
    anchors: ['SG.'],
    shape: sticky(`SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{32,64}`),
  },
  { name: 'npm_token', anchors: ['npm_'], shape: sticky(`npm_[A-Za-z0-9]{36}${end}`) },
  { name: 'pypi_token', anchors: ['pypi-AgE'], shape: sticky(`pypi-AgE[A-Za-z0-9_-]{50,1024}`) },
  { name: 'hugging_face_token', anchors: ['hf_'], shape: sticky(`hf_[A-Za-z0-9]{34}${end}`) },
  { name: 'groq_key', anchors: ['gsk_'], shape: sticky(`gsk_[A-Za-z0-9]{40,64}${end}`) },
  { name: 'xai_key', anchors: ['xai-'], shape: sticky(`xai-[A-Za-z0-9]{60,100}${end}`) },
  {
    name: 'digitalocean_token',
    anchors: ['dop_v1_', 'doo_v1_', 'dor_v1_'],
    shape: sticky(`do[opr]_v1_[0-9a-f]{64}${end}`),
  },
  {
    name: 'shopify_token',
    anchors: ['shpat_', 'shpss_', 'shpca_', 'shppa_'],
    shape: sticky(`shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}${end}`),
  },
  { name: 'vault_token', anchors: ['hvs.', 'hvb.'], shape: sticky(`hv[sb]\\.[A-Za-z0-9_-]{24,256}`) },
  { name: 'age_key', anchors: ['AGE-SECRET-KEY-1'], shape: sticky(`AGE-SECRET-KEY-1[A-Z0-9]{58}${end}`) },
  {
    name: 'nats_seed',
    anchors: ['SUA', 'SAA', 'SOA', 'SNA', 'SCA', 'SXA'],
    shape: sticky(`S[UAONCX]A[A-Z2-7]{55}${end}`),
  },
  {
    name: 'jwt',
    anchors: ['eyJ'],
    shape: sticky(`eyJ[A-Za-z0-9_-]{8,4096}\\.eyJ[A-Za-z0-9_-]{8,8192}\\.[A-Za-z0-9_-]{8,2048}`),
  },
  {
    name: 'private_key',
    goesOn: /^(?:(?!-----END)[\s\S])*$/,
    anchors: ['PRIVATE KEY'],
    wordStart: false,
    // The lines between the marks: headers, and base64 with line ends that may be escaped. A key that was cut
    // off has no last mark.
    shape: sticky(
      `PRIVATE KEY(?: BLOCK)?-----((?:\\s|\\\\+[nrt])*(?:[A-Za-z-]{1,40}: [^\\n\\r\\\\]{0,200}(?:[\\n\\r]|\\\\+[nrt])+){0,8}[A-Za-z0-9+/=]{16}(?:[A-Za-z0-9+/=]|\\s|\\\\+[nrt]){0,20000})`,
    ),
  },
  {
    name: 'url_credentials',
    anchors: ['://'],
    wordStart: false,
    shape: sticky(`://([^\\s/?#@:"'<>\\\\]{0,256}:[^\\s/?#"'<>\\\\]{1,256})@`),
    accepts: isCredential,
  },
  {
    name: 'bearer_token',
    anchors: ['Bearer ', 'bearer ', 'BEARER '],
    goesOn: oneSpace,
    shape: sticky(`bearer +([A-Za-z0-9._~+/-]{16,4096}=*)`, 'i'),
    accepts: isMixed,
  },
  {
    name: 'basic_auth',
    goesOn: oneSpace,
    anchors: ['Basic ', 'basic ', 'BASIC '],
    shape: sticky(
      `(?<=authorization["'\\\\]{0,4}\\s{0,4}[:=]\\s{0,4}["'\\\\]{0,4})basic +([A-Za-z0-9+/_-]{8,1024}=*)`,
      'i',
    ),
  },
  {
    name: 'assigned_secret',
    anchors: [
      'KEY=',
      'TOKEN=',
      'SECRET=',
      'PASSWORD=',
      'PASSWD=',
      'PASSPHRASE=',
      'CREDENTIAL=',
      'CREDENTIALS=',
    ],
    wordStart: false,
    shape: sticky(`[A-Z]+=\\\\{0,7}["']?([^\\s"'\\\\]{12,512})`),
    accepts: isRandom,
  },
]
