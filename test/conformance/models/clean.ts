// Takes out of a text what must not reach a file that is committed: secrets, accounts, and where the server
// is. Pure. A text is cleaned before it is cut, because half a secret is still one. JSON stays JSON: a mark
// has no quotation mark and no backslash.
import { hideSecrets } from '@beaver/core/secrets'

export interface Private {
  /** `null`: there is none. */
  readonly key: string | null
  readonly keyName: string
  readonly baseURL: string
}

const accountMember =
  '(?:user|account|org|organi[sz]ation|project|tenant|team|customer|workspace|subscription|billing|consumer)(?:[_-]?(?:id|name|number|uuid|email))?'

/** Each: the form, and what takes its place. */
const forms: readonly (readonly [RegExp, string])[] = [
  // A member that names an account, and the same in a text that is JSON.
  [new RegExp(String.raw`("${accountMember}"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|\d+)`, 'gi'), '$1null'],
  [new RegExp(String.raw`(\\+"${accountMember}\\+"\s*:\s*)(?:\\+"[^"\\]*\\+"|\d+)`, 'gi'), '$1null'],
  [/\b(?:org|proj|user|acct|team|cus)[-_](?=[A-Za-z0-9]*\d)[A-Za-z0-9]{8,}\b/g, '[account]'],
  [
    /\b((?:organi[sz]ation|project|account|tenant|subscription)s?(?:\s+|\/|:\s*|=))(?=[\w-]*\d)[\w-]{6,}/gi,
    '$1[account]',
  ],
  // A model that an account made, as OpenAI names it.
  [/\bft:([\w.-]+):[\w:.-]*/g, 'ft:$1:[account]'],
  [/\barn:aws[\w-]*:[\w:/.-]+/g, '[account]'],
  [/\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b/g, '[address]'],
  [/\b(?!127\.)(?:\d{1,3}\.){3}\d{1,3}\b/g, '[ip]'],
  // A local server names its model by the file. Whose folder it is goes first, because nothing may follow the
  // name.
  [/(?<![\w./-])\/(?:home|Users)\/[^\s"'\\/]+/g, '[folder]'],
  [/\b[A-Z]:\\+Users\\+[^\s"'\\]+/g, '[folder]'],
  [/(?<![\w./-])\/(?:root|mnt|media|data|srv|opt|var|work|tmp)\/(?:[^\s"'\\/]+\/)*/g, '[folder]/'],
]

/** Returns a function that cleans texts. */
export function cleaner({ key, keyName, baseURL }: Private): (text: string) => string {
  const { host, hostname, pathname, username, password, searchParams } = new URL(baseURL)
  const inAddress = [...searchParams.values(), username, password].flatMap((value) => [value, decoded(value)])
  const known = [
    ...(key === null ? [] : [{ name: keyName, value: key }]),
    ...inAddress.map((value) => ({ name: 'base_url', value })),
  ]
  const hide = hideSecrets(known.filter(({ value }) => value !== ''))
  // Gateways have accounts in the path. The name of a host in one word may be an ordinary word.
  const places = [
    host,
    ...(hostname.includes('.') ? [hostname] : []),
    ...(pathname.length > pathCharsMin ? [pathname.replace(/\/$/, '')] : []),
  ]
  return (text) => {
    const clean = places.reduce((so, place) => so.replaceAll(place, '[server]'), hide(text))
    return forms.reduce((so, [form, mark]) => so.replace(form, mark), clean)
  }
}

/** A shorter path, such as `/v1` or `/api/v1`, is everybody's. */
const pathCharsMin = 12

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
