// Reads and changes of the state that the members of a team share (D-51). A change is journaled before it
// takes effect. Accesses follow one another, over all teams of the task, so that parallel members lose no
// update. A change that does not fit the state is refused. The labels of a member go into the state with its
// text, and from the state to every member that accesses it.
import {
  changeSharedState,
  type Clock,
  type Draft,
  draft,
  event,
  evolveTeam,
  isUnlabelled,
  maskedData,
  readSharedState,
  type RunId,
  type SharedStateResult,
  type Taint,
  type TeamState,
} from '@beaver/core'
import type { SharedStateAccess } from '@beaver/agent'

export interface SharedStatePorts {
  readonly clock: Clock
  append(drafts: readonly Draft[]): Promise<number>
}

type LabelledResult = SharedStateResult & { readonly taint?: Taint }

export class SharedStateChanges {
  readonly #ports: SharedStatePorts
  #newest: Promise<unknown> = Promise.resolve()

  constructor(ports: SharedStatePorts) {
    this.#ports = ports
  }

  access(
    team: TeamState,
    by: { readonly runId: string; readonly taint: Taint },
    access: SharedStateAccess,
  ): Promise<LabelledResult> {
    const next = this.#newest.then(() => this.#carryOut(team, by, access))
    this.#newest = next.catch(() => {})
    return next
  }

  async #carryOut(
    team: TeamState,
    { runId, taint }: Parameters<SharedStateChanges['access']>[1],
    asked: SharedStateAccess,
  ): Promise<LabelledResult> {
    const access = maskedData(asked)
    if (access.action === 'get')
      return {
        ok: true,
        taint: team.sharedTaint,
        state: team.sharedState,
        value: readSharedState(team.sharedState, access.path) ?? null,
      }
    const result = changeSharedState(team.sharedState, access)
    if (!result.ok) return result
    const change = { team_run_id: team.start.team_run_id, run_id: runId as RunId, change: access }
    const changed = event('shared_state_changed', isUnlabelled(taint) ? change : { ...change, taint })
    await this.#ports.append([draft(changed)])
    evolveTeam(team, changed, { clockMs: this.#ports.clock.now() })
    return { ...result, state: {}, taint: team.sharedTaint } // the caller wants the value; the whole state need not cross the thread
  }
}
