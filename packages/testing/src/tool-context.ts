// The context of a tool call, for tests of tools.
import type { ToolContext } from '@beaver/agent'

/** Refuses everything that the test does not supply. */
export function toolContext(over: Partial<ToolContext> = {}): ToolContext {
  return {
    workspace: '/workspace',
    taskId: 'task1',
    sessionId: 'session1',
    runId: 'run1',
    callId: 'call1',
    sharedState: null,
    skills: [],
    memory: () => Promise.reject(new Error('No memory was expected.')),
    searchSessions: () => Promise.reject(new Error('No search was expected.')),
    callExternal: ({ name }) => Promise.reject(new Error(`No external tool ${name} was expected.`)),
    ask: () => Promise.reject(new Error('No question was expected.')),
    progress: () => {},
    reads: () => {},
    permission: () => ({ decision: 'allow', explicit: false }),
    signal: new AbortController().signal,
    ...over,
  }
}
