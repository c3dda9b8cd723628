// Formats an event as one plain line, if no live view is possible: when, who, what. Events without news for a
// person are left out.
import { agentTitle, describeEvent, type RecordedEvent, type Surroundings } from '@beaver/core'
import { duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { cutToWidth, padEnd, padStart } from '../text/width.ts'
import type { TaskView } from './task-view.ts'

const whoColumns = 18
const whatColumnsMax = 240

/** The line of an event. `view` is the view after it. `null` if there is no news. */
export function tellEvent(event: RecordedEvent, view: TaskView): string | null {
  const { who, what, news } = describeEvent(event, around(event, view))
  if (!news) return null
  const at = view.submittedAt === null ? 0 : Date.parse(event.time) - view.submittedAt
  const name = padEnd(cutToWidth(oneLine(who), whoColumns), whoColumns)
  return `${padStart(duration(at), 9)}  ${name}  ${cutToWidth(oneLine(what), whatColumnsMax)}`
}

function around(event: RecordedEvent, view: TaskView): Surroundings {
  const { data } = event
  const runId = event.runId ?? null
  const agent = runId === null ? undefined : view.byRun.get(runId)
  const team =
    'team_run_id' in data && data.team_run_id !== null ? view.teams.get(data.team_run_id) : undefined
  return {
    taskId: view.taskId ?? '',
    runId,
    agentName: agentTitle(agent?.isNode === true ? { team_run_id: '', agent_name: agent.name } : null),
    team:
      team === undefined
        ? null
        : {
            workflow: team.workflow,
            nodes: team.nodeCount,
            completed: team.nodes.filter((node) => node.state === 'completed').length,
          },
    nodeTool: agent?.tool ?? null,
    asked: ('call_id' in data && data.call_id !== null ? agent?.asked.get(data.call_id) : undefined) ?? null,
    takenOver: view.takenOver,
  }
}
