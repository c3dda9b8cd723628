// The thread that reads the body of one mail.
import { createRequire } from 'node:module'
import { parentPort } from 'node:worker_threads'
import { PortCalls } from '@beaver/core/port-calls'
import PostalMime, { type Address } from 'postal-mime'
import type { BodyReader } from './mail-content.ts'

const htmlCharsMax = 200_000
const textCharsMax = 200_000
const attachmentsNamed = 20
const limits = { maxNestingDepth: 20, maxRfc822NestingDepth: 2, attachmentEncoding: 'arraybuffer' } as const

function textOfHtml(html: string): string {
  // The package has no types, and it is loaded only for mails without plain text.
  const { convert } = createRequire(import.meta.url)('html-to-text') as {
    convert(html: string, options: object): string
  }
  const selectors = ['img', 'svg', 'template', 'noscript', 'iframe'].map((selector) => ({
    selector,
    format: 'skip',
  }))
  return convert(html.slice(0, htmlCharsMax), { wordwrap: false, limits: { maxDepth: 100 }, selectors })
}

const addressesIn = (all: readonly Address[] = []): readonly string[] =>
  all
    .flatMap((each) => (each.group === undefined ? [each.address] : each.group.map(({ address }) => address)))
    .map((address) => address.toLowerCase())

const reader: BodyReader = {
  async read(source, own) {
    const mail = await PostalMime.parse(source, limits)
    return {
      text: (mail.text ?? (mail.html === undefined ? '' : textOfHtml(mail.html))).slice(0, textCharsMax),
      subject: (mail.subject ?? '').slice(0, 2_000),
      attachments: mail.attachments
        .slice(0, attachmentsNamed)
        .map(({ filename, mimeType }) => (filename ?? mimeType).slice(0, 200)),
      attachmentsCount: mail.attachments.length,
      date: (mail.date ?? '').slice(0, 100),
      isToOwn: [...addressesIn(mail.to), ...addressesIn(mail.cc)].includes(own),
    }
  },
}
if (parentPort !== null) void new PortCalls(parentPort, { served: () => reader })
