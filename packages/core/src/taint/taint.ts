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

/**
 * The labels that the policy decides about. `private`: something was read that is not public. A text has it
 * if `public` is false.
 */
export const taintLabels = ['private', 'untrusted', 'secret'] as const
/** A label that the policy decides about. */
export type TaintLabel = (typeof taintLabels)[number]

/** What has read nothing but the words of the person who asked. */
export const cleanTaint: Taint = { untrusted: [], secret: [], public: true }

/**
 * A skill that was found in a workspace, as the source of a label.
 *
 * @example
 * workspaceSkill('tides') // => 'the skill tides of the workspace'
 */
export const workspaceSkill = (name: string): string => `the skill ${name} of the workspace`

const sourcesMax = 5

/**
 * The labels that apply.
 *
 * @example
 * labelsOf({ untrusted: [], secret: ['.env'], public: false }) // => ['private', 'secret']
 */
export const labelsOf = (of: Taint): TaintLabel[] =>
  taintLabels.filter((label) => (label === 'private' ? !of.public : of[label].length > 0))

/**
 * Whether no label applies.
 *
 * @example
 * isUnlabelled({ untrusted: [], secret: [], public: true }) // => true
 * isUnlabelled({ untrusted: [], secret: [], public: false }) // => false
 */
export const isUnlabelled = (of: Taint): boolean => labelsOf(of).length === 0

/**
 * The labels of all the texts together.
 *
 * @example
 * const page = { untrusted: ['https://a.example'], secret: [], public: true }
 * const file = { untrusted: [], secret: ['.env'], public: false }
 * joinTaints([page, file]) // => { untrusted: ['https://a.example'], secret: ['.env'], public: false }
 */
export function joinTaints(all: readonly Taint[]): Taint {
  const sources = (label: 'untrusted' | 'secret'): string[] =>
    [...new Set(all.flatMap((each) => each[label]))].slice(0, sourcesMax)
  return {
    untrusted: sources('untrusted'),
    secret: sources('secret'),
    public: all.every((each) => each.public),
  }
}
