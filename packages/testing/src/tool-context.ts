// The context of a tool call, for tests of tools: nothing is behind it but what the test puts there.
import type { ToolContext } from '@beaver/agent'

/** Whatever a test does not give refuses. */
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
    signal: new AbortController().signal,
    ...over,
  }
}
