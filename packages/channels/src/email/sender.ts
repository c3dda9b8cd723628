// Finds out who sent a mail, and whether this is proven.
// - Anybody can write any address into `From`, so a sender needs a proof. The proof is the header
//   Authentication-Results of the mail server that the configuration names. Only the topmost one of this
//   server counts, because a sender may add others below it.
// - The sender is proven if DMARC passed for the domain of `From`, or if there is no DMARC result and DKIM
//   passed for exactly this domain.
// - A mail with two senders, with a group, or with an address that is not plain has no sender.
// - An automatic mail is not answered: answering an automatic answer, a bounce or a list may never end (RFC
//   3834).
import { addressParser } from 'postal-mime'

/** A header of a mail, unfolded. The key is in lower case. */
export interface MailHeader {
  readonly key: string
  readonly value: string
}

/**
 * What proves senders: the results of the server with this name, or `relay`, a server in front that lets only
 * genuine senders through.
 */
export type SenderCheck = 'relay' | { readonly authserv_id: string }

const plainAddress = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*$/
const addressCharsMax = 120

const valuesOf = (headers: readonly MailHeader[], key: string): readonly string[] =>
  headers.filter((each) => each.key === key).map(({ value }) => value)

/** The address in `From`, in lower case. `null`: there is not exactly one address, or it is not plain. */
export function senderOf(headers: readonly MailHeader[]): string | null {
  const [from, ...more] = valuesOf(headers, 'from')
  if (from === undefined || more.length > 0 || from.length > 1_000) return null
  const [sender, ...others] = addressParser(from)
  const address = sender?.address?.toLowerCase() ?? ''
  return others.length === 0 && address.length <= addressCharsMax && plainAddress.test(address)
    ? address
    : null
}

/** Checks the proof of the sender. @returns the reason why the sender is not proven; `null` if it is */
export function senderFault(
  headers: readonly MailHeader[],
  sender: string,
  check: SenderCheck,
): string | null {
  if (check === 'relay') return null
  const domain = sender.slice(sender.lastIndexOf('@') + 1)
  const results = valuesOf(headers, 'authentication-results').map(readResults)
  const ours = results.find(({ server }) => server === check.authserv_id.toLowerCase())
  if (ours === undefined) return `${check.authserv_id} says nothing about the sender`
  const dmarc = ours.methods.filter(({ method }) => method === 'dmarc')
  if (dmarc.length > 0) {
    const passed = dmarc.every(
      ({ result, properties }) => result === 'pass' && properties.get('header.from') === domain,
    )
    if (passed) return null
    if (dmarc.some(({ result }) => result !== 'none')) return 'DMARC did not pass for the sender'
  }
  const signed = ours.methods.some(
    ({ method, result, properties }) =>
      method === 'dkim' && result === 'pass' && signerOf(properties) === domain,
  )
  return signed ? null : 'neither DMARC nor DKIM passed for the domain of the sender'
}

const signerOf = (properties: Method['properties']): string | undefined =>
  properties.get('header.d') ?? properties.get('header.i')?.split('@').at(-1)

interface Method {
  readonly method: string
  readonly result: string
  readonly properties: ReadonlyMap<string, string>
}

/**
 * Reads a header of RFC 8601. First, comments are removed and quoted texts become one token each, because a
 * sender may choose what is in them.
 */
function readResults(value: string): { readonly server: string; readonly methods: readonly Method[] } {
  const [head = '', ...parts] = splitOutside(withoutComments(value))
  const methods = parts.map((part): Method => {
    const [first = '', ...rest] = part.trim().toLowerCase().split(/\s+/)
    const [method = '', result = ''] = first.split('=')
    return {
      method: method.split('/')[0] ?? '',
      result,
      properties: new Map(
        rest.flatMap((each) =>
          each.includes('=')
            ? [[each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)] as const]
            : [],
        ),
      ),
    }
  })
  return { server: head.trim().split(/\s+/)[0]?.toLowerCase() ?? '', methods }
}

/** The text with a space for each comment and `"` for each quoted text. */
function withoutComments(value: string): string {
  let out = ''
  let depth = 0
  let quoted = false
  for (let i = 0; i < value.length; i++) {
    const char = value[i] ?? ''
    if (char === '\\' && (quoted || depth > 0)) i++
    else if (quoted) {
      quoted = char !== '"'
      if (!quoted) out += '"'
    } else if (depth === 0 && char === '"') quoted = true
    else if (char === '(') depth++
    else if (char === ')' && depth > 0) {
      depth--
      out += ' '
    } else if (depth === 0) out += char
  }
  // A header with an open quote or comment proves nothing.
  return quoted || depth > 0 ? '' : out
}

const splitOutside = (text: string): readonly string[] => text.split(';')

const automaticNames = /^(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)(?:[+.-].*)?@/

/**
 * Checks whether a program wrote the mail.
 *
 * @returns the reason why it must not be answered; `null` if a person seems to have written it
 */
export function automaticFault(headers: readonly MailHeader[], sender: string): string | null {
  const first = (key: string): string => valuesOf(headers, key)[0]?.trim().toLowerCase() ?? ''
  const submitted = first('auto-submitted')
  if (submitted !== '' && !/^no\b/.test(submitted)) return 'a program sent it'
  if (/^(?:bulk|list|junk|auto_reply)\b/.test(first('precedence')))
    return 'it has a precedence of lists and programs'
  if (headers.some(({ key }) => key.startsWith('list-') || key === 'x-autoreply' || key === 'x-autorespond'))
    return 'it is of a list or of a program'
  if (first('return-path') === '<>' || /^multipart\/report\b/.test(first('content-type')))
    return 'it is a report about another mail'
  if (automaticNames.test(sender)) return 'its sender reads no answers'
  return null
}
