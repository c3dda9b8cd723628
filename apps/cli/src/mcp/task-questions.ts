// The questions of tasks that an MCP client started.
// Q1. The client of a model answers only what an agent asks. What a tool asks may permit something, so people answer it elsewhere.
import type { BeaverClient } from '@beaver/client'
import { agentAsks, answerFault, askingCall, BeaverError, type OpenQuestion, openQuestions, questionLines, type RecordedEvent } from '@beaver/core'
import type { WorkflowAnswers, WorkflowQuestion } from '@beaver/mcp'

/** The source of the tasks of MCP clients. */
export const mcpSource = 'mcp'

/** The questions that wait, and those of them that the client may answer. */
export interface OpenOfTask {
  readonly open: readonly OpenQuestion[]
  readonly questions: readonly WorkflowQuestion[]
  /** The place of the newest event. */
  readonly taskseq: number
}

export const questionsFor = (open: readonly OpenQuestion[]): WorkflowQuestion[] =>
  open.filter(agentAsks).map(({ taskseq, question }) => ({ id: String(taskseq), question }))

/** @throws {BeaverError} `not_found` if no MCP client started such a task */
export async function openOf(taskId: string, events: AsyncIterable<RecordedEvent>): Promise<OpenOfTask> {
  let open: readonly OpenQuestion[] = []
  let taskseq = 0
  for await (const event of events) {
    if (taskseq === 0 && (event.type !== 'task_submitted' || event.data.request.source !== mcpSource)) break
    taskseq = event.taskseq
    open = openQuestions(open, event)
  }
  if (taskseq === 0) throw new BeaverError('not_found', `There is no task ${taskId} of an MCP client.`)
  return { open, questions: questionsFor(open), taskseq }
}

/**
 * Answers questions. Answers to nothing are left out. Nothing is answered if one of the answers does not fit.
 *
 * @throws {BeaverError} `invalid_arguments`, and the codes of `BeaverClient.answer` except `conflict`: somebody else was faster
 */
export async function answerAll(
  client: Pick<BeaverClient, 'answer'>,
  taskId: string,
  { open }: Pick<OpenOfTask, 'open'>,
  answers: WorkflowAnswers,
): Promise<void> {
  const given = open.filter(agentAsks).flatMap((asked) => {
    const answer = answers[String(asked.taskseq)]
    return answer === undefined ? [] : [{ asked, answer }]
  })
  for (const { asked, answer } of given) {
    const fault = answerFault(asked.question, answer)
    if (fault !== null) throw new BeaverError('invalid_arguments', `The question still waits. ${fault}`)
  }
  for (const { asked, answer } of given)
    await client.answer(taskId, { callId: askingCall(asked), questionIndex: asked.index, answer }).catch((error: unknown) => {
      if (!(error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found'))) throw error
    })
}

/** Says what a person has to do. @param asked `null`: a call waits for a decision */
export const waitsFor = (taskId: string, asked: Pick<OpenQuestion, 'question'> | null): string =>
  asked === null
    ? `A call waits for an approval. Answer it with: beaver approve ${taskId}`
    : `An agent asks: ${questionLines(asked.question).join(' ').slice(0, 1_000)} Answer it with: beaver answer ${taskId}`
