// Decides which calls of one answer run together, and which wait (D-66). Calls that only read run together,
// and so do calls of workflows. A call that writes waits for all calls before it and holds all after it. A
// call that only computes does neither.
import { teamSharedState } from '../tools/team-shared-state.ts'
import type { Assembly } from './assembly.ts'
import { findIn } from './assembly.ts'

/** What a call may do to the others. A tool that does not exist computes: it has its result at once. */
export type CallKind = 'computes' | 'reads' | 'workflow' | 'writes'

export function callKind(
  { tools, workflows }: Pick<Assembly, 'tools' | 'workflows'>,
  name: string,
): CallKind {
  if (findIn(workflows, name) !== undefined) return 'workflow'
  const tool = tools.get(name)
  if (tool === undefined) return 'computes'
  // Its sink is the team itself, so that it needs no permission. It changes what a later call reads.
  if (tool === teamSharedState) return 'writes'
  switch (tool.effects ?? (tool.pure === true ? 'none' : 'writes')) {
    case 'none':
      return 'computes'
    case 'reads':
      return 'reads'
    case 'writes':
      return 'writes'
  }
}

/**
 * The phase of each call: a call waits until all calls of earlier phases have ended. `null`: it waits for
 * none, and none waits for it.
 */
export function callPhases(kinds: readonly CallKind[]): (number | null)[] {
  let phase = -1
  let phaseKind: CallKind | null = null
  return kinds.map((kind) => {
    if (kind === 'computes') return null
    if (kind === 'writes' || kind !== phaseKind) phase++
    phaseKind = kind
    return phase
  })
}
