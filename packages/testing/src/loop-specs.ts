// LoopSpecs as a supervisor writes them. Tests change them.
import type { LoopPart, LoopSpec } from '@beaver/agent'
import { emptyMemory } from '@beaver/core'

type Over<Part> = Partial<Omit<LoopSpec, 'part' | 'start'>> & {
  readonly start?: Partial<LoopSpec['start']>
  readonly part?: Partial<Part>
}

/** A run that works on the whole task. */
export function rootSpec(over: Over<Extract<LoopPart, { kind: 'root' }>> = {}): LoopSpec {
  return spec({ kind: 'root', text: 'do it', skill: null, profile: null, ...over.part }, over)
}

/** A run of one node of a team. */
export function workerSpec(over: Over<Extract<LoopPart, { kind: 'worker' }>> = {}): LoopSpec {
  const part: LoopPart = {
    kind: 'worker',
    task: 'the whole',
    instruction: 'your part',
    dependencies: [],
    requiredEvidence: [],
    skill: null,
    allowedToolNames: null,
    skillQuery: null,
    systemPrompt: '',
    sharedState: false,
    ...over.part,
  }
  return spec(part, { ...over, start: { ...ofTeam, ...over.start } })
}

/** A run of a tool node. */
export function toolSpec(over: Over<Extract<LoopPart, { kind: 'tool' }>> = {}): LoopSpec {
  const part: LoopPart = { kind: 'tool', tool: 'add', arguments: {}, ...over.part }
  return spec(part, { ...over, start: { ...ofTeam, ...over.start } })
}

const ofTeam = {
  parent_run_id: 'root' as never,
  team_run_id: 'team1' as never,
  node_id: 'node',
  agent_name: 'node',
  source: 'team:team1',
}

function spec(part: LoopPart, over: Over<LoopPart>): LoopSpec {
  return {
    taskId: 'task1',
    sessionId: 'session1',
    workspace: '/workspace',
    history: [],
    memory: emptyMemory,
    stream: false,
    resume: null,
    admitted: false,
    ...over,
    start: {
      run_id: 'run1' as never,
      parent_run_id: null,
      attempt_index: 1,
      agent_name: 'root',
      team_run_id: null,
      node_id: null,
      source: 'test',
      max_tool_iterations: 20,
      ...over.start,
    },
    part,
  }
}
