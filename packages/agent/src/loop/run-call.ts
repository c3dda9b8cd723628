// Executing a call that may be executed: an ordinary tool in this thread, a workflow as a team of its host.
// R1. Whatever goes wrong is a result the model can read.
import type { OpenCall, SessionSearchRequest } from '@beaver/core'
import { readArgumentsText, skillsOf, type Workflow } from '@beaver/workflows'
import { executeTool, failedResult, type ToolResult } from '../tools/execute-tool.ts'
import type { ExternalCall } from '../tools/external-tools.ts'
import type { ToolContext } from '../tools/tool.ts'
import { findIn } from './assembly.ts'
import type { LoopWork } from './loop-work.ts'
import { workflowResult } from './workflow-result.ts'

export function runCall(work: LoopWork, call: OpenCall): Promise<ToolResult> {
  const { assembly, services, signal } = work
  const workflow = findIn(assembly.workflows, call.name)
  if (workflow !== undefined) return runWorkflow(work, workflow, call)
  const limits = { timeoutMs: services.toolTimeoutMs, signal, clock: services.clock }
  return executeTool(assembly.tools.get(call.name), call, toolContext(work, call), limits)
}

function toolContext({ spec, start, services, host }: LoopWork, call: OpenCall): Omit<ToolContext, 'signal'> {
  return {
    workspace: spec.workspace,
    taskId: spec.taskId,
    sessionId: spec.sessionId,
    runId: start.run_id,
    callId: call.id,
    sharedState: spec.part.kind === 'worker' && spec.part.sharedState ? host.sharedState : null,
    skills: services.skills,
    memory: host.memory,
    searchSessions: (request: Omit<SessionSearchRequest, 'session'>) => host.searchSessions({ ...request, session: spec.sessionId }),
    callExternal: (external: Omit<ExternalCall, 'callId'>, until: AbortSignal) => host.callExternal({ ...external, callId: call.id }, until),
  }
}

async function runWorkflow({ services, host }: LoopWork, workflow: Workflow, call: OpenCall): Promise<ToolResult> {
  const args = readArgumentsText(call.arguments)
  const plan = args.ok ? workflow.plan(args.value, { limits: services.workflowLimits ?? {} }) : args
  if (!plan.ok) {
    const { code, message, path } = plan.error
    return { success: false, tool_name: call.name, error: code, content: JSON.stringify({ error: code, message, path }) }
  }
  const missing = skillsOf(plan.graph).find(({ skill }) => !services.skills.some((each) => each.name === skill))
  if (missing !== undefined)
    return failedResult(
      call.name,
      'unknown_skill',
      `There is no skill ${JSON.stringify(missing.skill)}, which the agent ${JSON.stringify(missing.agent)} is to use.`,
    )
  const team = await host.runTeam(call.id, plan.graph)
  if ('refused' in team) return failedResult(call.name, team.refused.code, team.refused.message)
  return workflowResult(workflow, call.name, team)
}
