// The log of a team run: one line in words for each event with news for a person (AT-12, API-02), with the
// sentences of the timeline. The log is bounded, and its last line says how many lines are left out.
import type { DataOf, DomainEvent } from '@beaver/core'
import { agentTitle, describeEvent } from '@beaver/core/task-view'
import { teamSettings } from './member-nodes.ts'
import type { TeamJournal } from './team-journal.ts'

/**
 * One line of the log of a team. `who`: a member's node, an agent, `team` or `task`. `timestamp`: RFC 3339.
 */
export interface TeamLogLine {
  readonly timestamp: string
  readonly who: string
  readonly what: string
  readonly status: string
}

const linesMax = 2_000

/** Collects the log of a team. `take` gets every event of the task, in order, after the journal took it. */
export class TeamLog {
  readonly #lines: TeamLogLine[] = []
  readonly #runs = new Map<string, DataOf<'run_started'>>()
  #last = ''
  #leftOut = 0

  take(journal: TeamJournal, event: DomainEvent, time: string): void {
    if (event.type === 'run_started') this.#runs.set(event.data.run_id, event.data)
    const { who, what, status, news } = describeEvent(event, this.#around(journal, event))
    if (!news) return
    this.#last = time
    if (this.#lines.length >= linesMax) this.#leftOut++
    else this.#lines.push({ timestamp: time, who, what, status })
  }

  /** Empty if the configuration of the team says `enable_logging: false`. */
  lines({ team }: TeamJournal): readonly TeamLogLine[] {
    if (teamSettings.safeParse(team?.graph.settings).data?.enable_logging === false) return []
    if (this.#leftOut === 0) return this.#lines
    return [
      ...this.#lines,
      {
        timestamp: this.#last,
        who: 'task',
        what: `${this.#leftOut} more lines are left out; the timeline has them.`,
        status: 'done',
      },
    ]
  }

  #around({ taskId, team }: TeamJournal, event: DomainEvent) {
    const run = event.runId === undefined ? null : (this.#runs.get(event.runId) ?? null)
    const nodes = [...(team?.nodes.values() ?? [])]
    return {
      taskId: taskId ?? '',
      runId: event.runId ?? null,
      agentName: agentTitle(run),
      team:
        team === null
          ? null
          : {
              workflow: team.graph.workflow,
              nodes: nodes.length,
              completed: nodes.filter(({ status }) => status === 'completed').length,
            },
      nodeTool: null,
      asked: null,
      takenOver: false,
    }
  }
}
