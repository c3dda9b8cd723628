// What a run, a tool result or an answer carries because of where its text came from. A label never goes
// away, also after the text was shortened or summarised. The sources are for people: a run keeps the first
// `sourcesMax` of each label.
import { z } from 'zod'

/**
 * The labels of a text. Sources say where the text came from; an empty list means that the label does not
 * apply.
 */
export const taint = z.object({
  untrusted: z
    .array(z.string())
    .describe(
      'Where text of strangers came from. Beaver keeps the first five sources. Empty: there is none.',
    ),
  secret: z
    .array(z.string())
    .describe('Where secrets came from. Beaver keeps the first five sources. Empty: there is none.'),
  public: z.boolean().describe('Whether everything is public, so that nobody learns anything new from it.'),
})
/** The labels of a text. */
export type Taint = z.infer<typeof taint>

/** A label that the policy decides about. */
export type TaintLabel = 'untrusted' | 'secret'

/** What has read nothing but the words of the person who asked. */
export const cleanTaint: Taint = { untrusted: [], secret: [], public: true }

const sourcesMax = 5

/**
 * Whether neither label applies.
 *
 * @example
 * isUnlabelled({ untrusted: [], secret: [], public: false }) // => true
 */
export const isUnlabelled = ({ untrusted, secret }: Taint): boolean =>
  untrusted.length === 0 && secret.length === 0

/**
 * The labels of all the texts together.
 *
 * @example
 * const page = { untrusted: ['https://a.example'], secret: [], public: true }
 * const file = { untrusted: [], secret: ['.env'], public: false }
 * joinTaints([page, file]) // => { untrusted: ['https://a.example'], secret: ['.env'], public: false }
 */
export function joinTaints(all: readonly Taint[]): Taint {
  const sources = (label: TaintLabel): string[] =>
    [...new Set(all.flatMap((each) => each[label]))].slice(0, sourcesMax)
  return {
    untrusted: sources('untrusted'),
    secret: sources('secret'),
    public: all.every((each) => each.public),
  }
}
