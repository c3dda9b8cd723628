// Reads and changes of the state that the members of a team share (D-51). A change is journaled before it takes effect.
// C1. Accesses follow one another, over all teams of the task, so that parallel members lose no update. A change that does not fit the
//     state is refused.
import {
  changeSharedState,
  type Clock,
  type Draft,
  draft,
  event,
  evolveTeam,
  maskedData,
  readSharedState,
  type RunId,
  type SharedStateResult,
  type TeamState,
} from '@beaver/core'
import type { SharedStateAccess } from '@beaver/agent'

export interface SharedStatePorts {
  readonly clock: Clock
  append(drafts: readonly Draft[]): Promise<number>
}

export class SharedStateChanges {
  readonly #ports: SharedStatePorts
  #newest: Promise<unknown> = Promise.resolve()

  constructor(ports: SharedStatePorts) {
    this.#ports = ports
  }

  access(team: TeamState, runId: string, access: SharedStateAccess): Promise<SharedStateResult> {
    const next = this.#newest.then(() => this.#carryOut(team, runId, access))
    this.#newest = next.catch(() => {})
    return next
  }

  async #carryOut(team: TeamState, runId: string, asked: SharedStateAccess): Promise<SharedStateResult> {
    const access = maskedData(asked)
    if (access.action === 'get') return { ok: true, state: team.sharedState, value: readSharedState(team.sharedState, access.path) ?? null }
    const result = changeSharedState(team.sharedState, access)
    if (!result.ok) return result
    const changed = event('shared_state_changed', { team_run_id: team.start.team_run_id, run_id: runId as RunId, change: access })
    await this.#ports.append([draft(changed)])
    evolveTeam(team, changed, { clockMs: this.#ports.clock.now() })
    return { ...result, state: {} } // the caller wants the value; the whole state need not cross the thread
  }
}
