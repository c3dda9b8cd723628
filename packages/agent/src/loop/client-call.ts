// Makes a call of a tool that the client brought with its task: the client makes it, and the loop waits. That
// the call is with the client is durable before anybody can answer it, and the answer is before the model gets
// it. A call that is made again, after a crash, waits on or takes the recorded answer. What a client answers
// is the text of a page or a file somewhere, so it is a stranger's.
import { event, type ToolCall } from '@beaver/core'
import type { ClientAnswer } from '@beaver/core/fold'
import { readCallArguments } from '../tools/call-arguments.ts'
import { failedResult, type ToolResult } from '../tools/execute-tool.ts'
import { boundedText } from '../tools/result-text.ts'
import type { ReadSource, Tool } from '../tools/tool.ts'
import type { LoopWork } from './loop-work.ts'
import { unlessAborted } from './unless-aborted.ts'

/** @param reads is told whose text the answer is */
export async function clientResult(
  work: LoopWork,
  tool: Tool,
  call: ToolCall,
  reads: (source: ReadSource) => void,
): Promise<ToolResult> {
  const args = readCallArguments(tool.name, call.arguments)
  const fault = args.ok ? (tool.inputFault?.(args.value) ?? null) : args.message
  if (fault !== null) return { ...failedResult(tool.name, 'invalid_arguments', fault), ownWords: true }
  const answer = await answerOf(work, call)
  if (answer === null) {
    const message = `${tool.name} was stopped because the run was cancelled.`
    return { ...failedResult(tool.name, 'cancelled', message), ownWords: true }
  }
  reads({ stranger: `client tool ${tool.name}` })
  const { content, error } = answer
  if (error === undefined)
    return { success: true, tool_name: tool.name, error: null, content: boundedText(content) }
  return failedResult(tool.name, 'client_error', boundedText(content === '' ? error : `${error}\n${content}`))
}

/** `null`: the run was cancelled. */
async function answerOf(work: LoopWork, { id, name }: ToolCall): Promise<ClientAnswer | null> {
  const known = work.run().calls.find((each) => each.id === id)
  if (known !== undefined && known.clientAnswer !== null) return known.clientAnswer
  if (work.signal.aborted) return null
  if (known?.atClient !== true)
    await work.record([event('client_call_requested', { call_id: id, tool_name: name }, work.start.run_id)])
  const answered = await unlessAborted(work.host.clientAnswer(id, work.signal), work.signal)
  if (answered === null) return null
  work.receive(answered.event, answered.taskseq)
  return answered.event.data
}
