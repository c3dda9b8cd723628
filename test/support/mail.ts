// Mails as people and programs write them to Beaver.

/** The address of Beaver. */
export const own = 'beaver@team.example'

let mails = 0

export interface Written {
  readonly from?: string
  readonly to?: string
  readonly id?: string | null
  readonly subject?: string
  readonly body?: string
  /** Lines above everything else, as mail servers add them. */
  readonly top?: readonly string[]
  readonly more?: readonly string[]
  /** What the own mail server says about the sender. Default: DMARC passed. */
  readonly results?: string | null
}

/** A mail as it lies in a mailbox. */
export function written({
  from = 'Ada <ada@team.example>',
  to = own,
  id = `<m${++mails}@team.example>`,
  subject = 'A question',
  body = 'hello',
  top = [],
  more = [],
  results,
}: Written): string {
  const domain = /@([^>]+)/.exec(from)?.[1] ?? ''
  return [
    ...top,
    ...(results === null
      ? []
      : [
          `Authentication-Results: ${results ?? `mx.team.example; dmarc=pass (p=reject) header.from=${domain}`}`,
        ]),
    `From: ${from}`,
    `To: ${to}`,
    ...(id === null ? [] : [`Message-ID: ${id}`]),
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString()}`,
    ...more,
    '',
    body,
    '',
  ].join('\r\n')
}
