// What a tool says about the text that it reads and about what it does with its arguments. A tool that says
// nothing reads the user's own data and acts on the outside: its calls run freely until the run has read a
// stranger's text or a secret. The annotations of an MCP server decide nothing here. The operator's
// configuration does.
import type { Sink } from '@beaver/core/taint'

/**
 * Whose text the results of a tool are. `public`: nobody's, such as the time. `own`: the user's. `web`:
 * public text of strangers. `untrusted`: text of strangers among the user's own data, such as mail. `secret`:
 * what nobody else may learn.
 */
export const readKinds = ['public', 'own', 'web', 'untrusted', 'secret'] as const
/** Whose text the results of a tool are. */
export type Reads = (typeof readKinds)[number]

/**
 * What a call does. `none`: it computes. `reads`: it changes nothing. `writes`: it changes something, or
 * nobody knows.
 */
export const effectKinds = ['none', 'reads', 'writes'] as const
/** What a call does. */
export type Effects = (typeof effectKinds)[number]

/** What a tool declares of its texts and effects. */
export interface DeclaredKind {
  /**
   * Whether the result follows from the arguments alone. If so, the loop makes the call without waiting for a
   * record of it.
   */
  readonly pure?: boolean
  /** What a call does. Default: `writes`, and `none` for a pure tool. */
  readonly effects?: Effects
  /** What a call does with its arguments. Default: `send` if the tool writes, otherwise nothing. */
  readonly sink?: Sink
  /** Whose text the results are. Default: `own`, and `public` if `effects` is `none`. */
  readonly reads?: Reads | ((args: unknown) => Reads)
}

/** What the tool does with its arguments, or `null` if nothing of them leaves the run. */
export const sinkOf = (tool: DeclaredKind): Sink | null =>
  tool.sink ?? (effectsOf(tool) === 'writes' ? 'send' : null)

const effectsOf = ({ pure, effects = pure === true ? 'none' : 'writes' }: DeclaredKind): Effects => effects

const declaredReads = (tool: DeclaredKind): NonNullable<DeclaredKind['reads']> =>
  tool.reads ?? (effectsOf(tool) === 'none' ? 'public' : 'own')

/** Whose text a result with these arguments is. A tool that cannot tell is not trusted. */
export function readsOf(tool: DeclaredKind, args: unknown): Reads {
  const reads = declaredReads(tool)
  if (typeof reads !== 'function') return reads
  try {
    return reads(args)
  } catch {
    return 'untrusted'
  }
}

/** The kind of a tool in a few words, for people. */
export interface ToolKind {
  readonly reads: Reads | 'depends'
  readonly effects: Effects
  readonly sink: Sink | null
}

/**
 * What a tool declares, as `beaver tools` shows it.
 *
 * @example
 * const note = defineTool({ name: 'note', description: 'Keeps a note.', input: z.strictObject({ text: z.string() }), run: () => 'kept' })
 * toolKindOf(note) // => { reads: 'own', effects: 'writes', sink: 'send' }
 */
export function toolKindOf(tool: DeclaredKind): ToolKind {
  const reads = declaredReads(tool)
  return {
    reads: typeof reads === 'function' ? 'depends' : reads,
    effects: effectsOf(tool),
    sink: sinkOf(tool),
  }
}
