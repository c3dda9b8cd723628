// Replaces secrets in texts by marks: `[secret:OPENAI_API_KEY]`, `[secret:aws_access_key]`. Every event
// passes here, so it reads a text once, by pairs of bytes, of which few can begin a secret. Masking is
// idempotent. A text or value without a secret is returned as the same string or object.

export interface FoundSecret {
  readonly name: string
  readonly from: number
  readonly to: number
}

type Candidate = { readonly anchor: string } & (
  | { readonly name: string }
  | { readonly pattern: SecretPattern }
)

/** The first characters of each anchor that are looked for. */
const windowLength = 3
const nothing: readonly FoundSecret[] = []

/**
 * The low byte of each character of a piece of the text. To read bytes takes a fraction of the time that it
 * takes to read characters. A character beyond ASCII may look like another one here, so what is found is
 * compared with the text itself.
 */
const pieceLength = 65_536
const bytes = Buffer.alloc(pieceLength + windowLength)

/** @returns how many characters were copied */
function copied(text: string, start: number): number {
  if (start === 0 && text.length <= pieceLength) return bytes.write(text, 0, pieceLength, 'latin1')
  return bytes.write(text.slice(start, start + pieceLength), 0, pieceLength, 'latin1')
}

const markOf = (name: string): string => `[secret:${name.replace(/[^\w.-]/g, '_')}]`

const windowHash = (first: number, second: number, third: number): number =>
  ((first << 8) ^ (second << 4) ^ third) & 0x7fff

export class SecretMasker {
  /** The list of candidates for each pair of ASCII characters, as an index into `#lists`; 0: none. */
  readonly #pairs = new Uint16Array(128 * 128)
  readonly #lists: { readonly candidate: Candidate; readonly offset: number }[][] = [[]]
  /** Whether an anchor may begin with three characters, by their hash. */
  readonly #windows = new Uint8Array(32_768)
  /** Spellings that do not begin with ASCII. They are rare. */
  readonly #others: { readonly anchor: string; readonly name: string }[] = []
  readonly #anchors: { readonly anchor: string; readonly pattern?: SecretPattern }[] = []

  constructor(known: readonly KnownSecret[]) {
    const spellings = known
      .filter(({ value }) => isHideable(value))
      .flatMap(({ name, value }) => spellingsOf(value).map((anchor) => ({ anchor, name })))
    // A longer spelling first: a secret may begin another one.
    for (const each of spellings.toSorted((a, b) => b.anchor.length - a.anchor.length)) {
      if (/^[\x20-\x7f]{3}/.test(each.anchor)) this.#add(each)
      else this.#others.push(each)
      this.#anchors.push({ anchor: each.anchor })
    }
    for (const pattern of secretPatterns)
      for (const anchor of pattern.anchors) {
        this.#add({ anchor, pattern })
        this.#anchors.push({ anchor, pattern })
      }
  }

  /** @param start what comes before this place is only looked at. Default: 0 */
  mask(text: string, start = 0): string {
    const all = this.find(text)
    const found = start === 0 ? all : all.filter(({ from }) => from >= start)
    if (found.length === 0) return start === 0 ? text : text.slice(start)
    let masked = ''
    let at = start
    for (const { name, from, to } of found) {
      masked += text.slice(at, from) + markOf(name)
      at = to
    }
    return masked + text.slice(at)
  }

  /** The places of the secrets, in order and without overlaps. */
  find(text: string): readonly FoundSecret[] {
    let found: FoundSecret[] | null = null
    let masked = 0
    for (let start = 0; ; start += pieceLength - windowLength + 1) {
      const length = copied(text, start)
      // An anchor has a pair of its characters at every second place.
      for (let i = 0; i < length - 1; i += 2) {
        const first = (bytes[i] as number) & 127
        const second = (bytes[i + 1] as number) & 127
        const list = this.#pairs[(first << 7) | second] as number
        // Only then the third character, after the pair or before it.
        if (
          list === 0 ||
          (!this.#hasWindow(first, second, bytes[i + 2] as number) &&
            !this.#hasWindow(i === 0 ? 0 : (bytes[i - 1] as number), first, second))
        )
          continue
        const one = this.#at(text, start + i, list, masked)
        if (one === null) continue
        found ??= []
        found.push(one)
        masked = one.to
      }
      if (start + length >= text.length) break
    }
    return this.#others.length > 0 ? this.#withOthers(text, found ?? nothing) : (found ?? nothing)
  }

  /**
   * How much of a text that still grows is decided: whatever follows, no secret begins before this place and
   * ends behind it.
   */
  decided(text: string): number {
    let open = text.length
    for (const { anchor, pattern } of this.#anchors) {
      const from = pattern === undefined ? beginningAtEnd(text, anchor) : growingAtEnd(text, anchor, pattern)
      if (from < open) open = from
    }
    // A secret that was found may be the beginning of a longer one.
    for (const { to, from } of this.find(text))
      if (to >= Math.min(open, text.length - 1)) return Math.min(open, from)
    return open
  }

  #hasWindow(first: number, second: number, third: number): boolean {
    return this.#windows[windowHash(first & 127, second, third & 127)] === 1
  }

  #add(candidate: Candidate): void {
    const { anchor } = candidate
    this.#windows[windowHash(anchor.charCodeAt(0), anchor.charCodeAt(1), anchor.charCodeAt(2))] = 1
    for (let offset = 0; offset < windowLength - 1; offset++) {
      const pair = (anchor.charCodeAt(offset) << 7) | anchor.charCodeAt(offset + 1)
      if (this.#pairs[pair] === 0) this.#pairs[pair] = this.#lists.push([]) - 1
      this.#lists[this.#pairs[pair] as number]?.push({ candidate, offset })
    }
  }

  #at(text: string, place: number, list: number, masked: number): FoundSecret | null {
    for (const { candidate, offset } of this.#lists[list] ?? []) {
      const from = place - offset
      if (
        from < masked ||
        text.charCodeAt(from + 2) !== candidate.anchor.charCodeAt(2) ||
        !text.startsWith(candidate.anchor, from)
      )
        continue
      if ('name' in candidate) return { name: candidate.name, from, to: from + candidate.anchor.length }
      const found = shaped(text, from, candidate.pattern)
      if (found !== null) return found
    }
    return null
  }

  #withOthers(text: string, found: readonly FoundSecret[]): readonly FoundSecret[] {
    const all = [...found]
    for (const { anchor, name } of this.#others)
      for (let from = text.indexOf(anchor); from >= 0; from = text.indexOf(anchor, from + anchor.length))
        all.push({ name, from, to: from + anchor.length })
    if (all.length === found.length) return found
    const kept: FoundSecret[] = []
    for (const each of all.toSorted((a, b) => a.from - b.from || b.to - a.to))
      if (each.from >= (kept.at(-1)?.to ?? 0)) kept.push(each)
    return kept
  }
}

function shaped(
  text: string,
  at: number,
  { name, shape, wordStart = true, accepts }: SecretPattern,
): FoundSecret | null {
  if (wordStart && !startsWord(text, at)) return null
  shape.lastIndex = at
  const match = shape.exec(text)
  const [from, to] = match?.indices?.[1] ?? match?.indices?.[0] ?? [0, 0]
  if (match === null || accepts?.(text.slice(from, to)) === false) return null
  return { name, from, to }
}

/**
 * Whether a word may begin here. A letter before this place may be part of an escape: `\n` in JSON, `%0A` in
 * a URL.
 */
function startsWord(text: string, at: number): boolean {
  const before = text[at - 1] ?? ' '
  if (!/[A-Za-z0-9_-]/.test(before)) return true
  return (
    (/[bfnrt]/.test(before) && text[at - 2] === '\\') ||
    /(?:%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4})$/.test(text.slice(Math.max(0, at - 6), at))
  )
}

/**
 * Where the end of a text is the beginning of `anchor`, and no more than that; the length of the text:
 * nowhere.
 */
function beginningAtEnd(text: string, anchor: string): number {
  const first = anchor.charCodeAt(0)
  for (let from = Math.max(0, text.length - anchor.length + 1); from < text.length; from++)
    if (text.charCodeAt(from) === first && anchor.startsWith(text.slice(from))) return from
  return text.length
}

/**
 * Where a secret of this shape may have begun that the text does not end yet; the length of the text:
 * nowhere.
 */
function growingAtEnd(
  text: string,
  anchor: string,
  { wordStart = true, goesOn = /^[\x21-\x7e]*$/ }: SecretPattern,
): number {
  const growsAt = (from: number): boolean =>
    (!wordStart || startsWord(text, from)) && goesOn.test(text.slice(from + anchor.length))
  for (
    let from = text.indexOf(anchor, Math.max(0, text.length - growingCharactersMax));
    from >= 0;
    from = text.indexOf(anchor, from + 1)
  )
    if (growsAt(from)) return from
  const from = beginningAtEnd(text, anchor)
  return from === text.length || (wordStart && !startsWord(text, from)) ? text.length : from
}

/** A longer text without an end is no secret, and who follows a task waits for it. */
const growingCharactersMax = 32_768

// The spellings of a known value: as it is, and encoded as programs encode it. Base64 is spelled at all three
// positions within a group of bytes, so it is found inside a longer text such as `user:password` in a header.
// Values that could be ordinary text are left alone: to hide them would destroy other texts.

/** A secret whose value this process knows. `name` says where it comes from: `OPENAI_API_KEY`. */
export interface KnownSecret {
  readonly name: string
  readonly value: string
}

/** Shorter values are placeholders: local servers require some key and ignore it. */
const charactersMin = 6
const wordCharactersMax = 15

/** What people give as a key to a server that wants none. */
const placeholders = new Set([
  'password',
  'changeme',
  'not-needed',
  'not_needed',
  'notneeded',
  'placeholder',
  'lm-studio',
  'localhost',
  'no-key-needed',
  'sk-no-key-required',
])

/**
 * Whether a text of this value can be hidden wherever it occurs. A short value, a value of a few letters
 * without a digit, and a number are too common for that.
 *
 * @example
 * isHideable('hunter2-2026') // => true
 * isHideable('ollama') // => false
 */
export function isHideable(value: string): boolean {
  if (value.length < charactersMin || placeholders.has(value.toLowerCase())) return false
  if (/^[\d.\s:-]+$/.test(value)) return value.length >= 12
  return value.length > wordCharactersMax || !/^[A-Za-z]+(?:[-_ .][A-Za-z]+)*$/.test(value)
}

function spellingsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value)
  const json = JSON.stringify(value).slice(1, -1)
  const url = encodeURIComponent(value.toWellFormed())
  const hex = bytes.toString('hex')
  const base64 = [0, 1, 2].map((before) => base64Within(bytes, before))
  return [
    ...new Set([
      ...[value, json, JSON.stringify(json).slice(1, -1)],
      ...[url, url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()), url.replaceAll('%20', '+')],
      bytes.toString('base64'),
      ...base64.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]),
      ...[hex, hex.toUpperCase()],
    ]),
  ].filter(({ length }) => length >= charactersMin)
}

/**
 * The characters of base64 that depend on these bytes alone, if `before` bytes come before them in a group of
 * three.
 */
function base64Within(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const whole = Math.floor(((before + bytes.length) * 8) / 6)
  return text.slice([0, 2, 3][before], whole)
}

// The shapes of well-known keys, as their issuers document them: such a text is a secret even if no process
// knows its value. `shape` is sticky and matches where one of its `anchors` begins; its first group, or else
// the whole match, is the secret. No shape backtracks without a bound, because the text may come from an
// attacker. Hashes, UUIDs, base64 of images, branch names and placeholders must not match.

interface SecretPattern {
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

const secretPatterns: readonly SecretPattern[] = [
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
