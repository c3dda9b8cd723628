// The plan that an editor shows: the nodes of the teams of one task, with how far each is. A fold of events.
// At most `entriesMax` entries are shown, and one that counts the others, because every change sends the
// whole plan.
import type { Plan, PlanEntry } from '@agentclientprotocol/sdk'
import type { DomainEvent, ExecutionNode } from '@beaver/core'

const entriesMax = 100
const contentCharsMax = 120

interface Entry {
  content: string
  status: PlanEntry['status']
}

export class TeamPlan {
  readonly #entries = new Map<string, Entry>()

  /** The new plan. `null`: the event changes nothing in it. */
  event(event: DomainEvent): Plan | null {
    return this.#apply(event) ? this.#plan() : null
  }

  #apply({ type, data }: DomainEvent): boolean {
    switch (type) {
      case 'task_team_run_started':
        for (const node of data.graph.nodes) this.#add(data.team_run_id, node)
        return true
      case 'graph_extended':
        for (const node of data.nodes) this.#add(data.team_run_id, node)
        return true
      case 'node_started':
        return this.#set(data, 'in_progress', null)
      case 'node_completed':
      case 'node_computed':
        return this.#set(data, 'completed', null)
      case 'node_failed':
        return this.#set(data, 'completed', 'failed')
      case 'node_blocked':
        return this.#set(data, 'completed', 'blocked')
      case 'node_cancelled':
        return this.#set(data, 'completed', 'cancelled')
      case 'node_skipped':
        return this.#set(data, 'completed', 'skipped')
      default:
        return false
    }
  }

  #add(team: string, node: ExecutionNode): void {
    const about = node.kind === 'agent' ? node.instruction : node.kind === 'tool' ? node.tool : node.operation
    const content = `${node.node_id}: ${about}`.replaceAll(/\s+/gu, ' ')
    this.#entries.set(keyOf(team, node.node_id), {
      content: content.slice(0, contentCharsMax).toWellFormed(),
      status: 'pending',
    })
  }

  #set(
    { team_run_id: team, node_id: node }: { team_run_id: string; node_id: string },
    status: Entry['status'],
    why: string | null,
  ): boolean {
    const entry = this.#entries.get(keyOf(team, node))
    if (entry === undefined) return false
    if (why !== null) entry.content = `[${why}] ${entry.content}`
    entry.status = status
    return true
  }

  #plan(): Plan {
    const all = [...this.#entries.values()]
    const entries = all
      .slice(0, entriesMax)
      .map(({ content, status }): PlanEntry => ({ content, status, priority: 'medium' }))
    const others = all.slice(entriesMax)
    if (others.length === 0) return { entries }
    const ended = others.filter(({ status }) => status === 'completed').length
    const status =
      ended === others.length
        ? 'completed'
        : others.every((each) => each.status === 'pending')
          ? 'pending'
          : 'in_progress'
    return {
      entries: [
        ...entries,
        { content: `${others.length} more, ${ended} of them ended`, status, priority: 'medium' },
      ],
    }
  }
}

const keyOf = (team: string, node: string): string => `${team} ${node}`
