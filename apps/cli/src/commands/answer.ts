// `beaver answer`: answers a question of a running call. When the command ends, the answer is in the journal.
// The user names the call by its id or the beginning of its id, or not at all if only one call asks.
import { type AskedQuestionAnswer, questionIn, type QueryOutput } from '@beaver/contracts'
import { BeaverError, shellWord } from '@beaver/core'
import { isAnswer, type QuestionAnswer, readAnswer } from '@beaver/core/question'
import { commandName } from '../command-name.ts'
import { type Connection, connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import type { Screen } from '../screen.ts'
import { findSystem } from '../system/find-system.ts'
import { moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { briefIds } from '../text/brief-ids.ts'
import { table } from '../text/table.ts'
import { warnOfChangedRows } from '../view/changed-rows.ts'
import { answerCommands, questionText } from '../view/render-question.ts'
import { alreadySettledIn, askedInTask, findTask } from './find-task.ts'

export interface AnswerOptions {
  readonly call?: string
  readonly decline?: true
  readonly cancel?: true
  readonly reason?: string
  readonly json?: true
}

export async function answer(
  typedTask: string | undefined,
  typed: readonly string[],
  options: AnswerOptions,
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config))
  if (typedTask === undefined) return await list(connection, screen, options)
  const { taskId } = await findTask(connection, typedTask)
  const waiting = await askedInTask(connection, taskId, {
    what: 'question',
    named: options.call,
    ask: () => questionsOf(connection, taskId),
    isEmpty: ({ questions }) => questions.length === 0,
  })
  const asked = chosenOf(taskId, waiting?.questions ?? [], options.call)
  if (asked === null && options.call === undefined) throw await noneAsks(connection, taskId)
  const answer = answerOf(asked, typed, options)
  const callId = asked === null ? (options.call ?? '') : `${asked.run_id ?? ''}/${asked.call_id}`
  await connection.client.answer(taskId, {
    callId,
    questionIndex: asked?.question_index,
    answer,
    reason: options.reason,
  })
  const by = connection.subjects.caller
  if (options.json === true)
    screen.json({
      task_id: taskId,
      call_id: asked?.call_id ?? callId,
      question_index: asked?.question_index ?? null,
      answer,
      by,
    })
  else screen.print(`${answerText(answer)} (${taskId})`)
  return 0
}

/** For example `Answered: main`. */
function answerText({ action, answers, content }: QuestionAnswer): string {
  if (action !== 'accept') return action === 'decline' ? 'Declined to answer.' : 'Cancelled the question.'
  return `Answered: ${oneLine(answers?.join(', ') ?? JSON.stringify(content))}`
}

function answerOf(
  asked: AskedQuestionAnswer | null,
  typed: readonly string[],
  { decline, cancel }: AnswerOptions,
): QuestionAnswer {
  if (decline === true || cancel === true) {
    if (typed.length > 0) throw new UsageError('Give an answer, or --decline, or --cancel.')
    return { action: decline === true ? 'decline' : 'cancel' }
  }
  if (typed.length === 0) {
    if (asked === null) throw new UsageError('Give the answer after the task.')
    const lines = questionText({
      agent: asked.agent_name ?? '',
      tool: asked.tool,
      question: questionIn(asked),
    })
    throw new BeaverError('invalid_arguments', [...lines, 'Give the answer after the task.'].join('\n'))
  }
  return readAnswer(asked === null ? { message: '' } : questionIn(asked), typed)
}

function chosenOf(
  taskId: string,
  questions: readonly AskedQuestionAnswer[],
  typed: string | undefined,
): AskedQuestionAnswer | null {
  const exact = questions.filter(
    ({ call_id, run_id }) => typed === call_id || typed === `${run_id}/${call_id}`,
  )
  const found =
    typed === undefined
      ? questions
      : exact.length > 0
        ? exact
        : questions.filter(({ call_id }) => call_id.startsWith(typed))
  const [only] = found
  if (found.length > 1) {
    const names = found
      .map(({ run_id, call_id, message }) => `${run_id}/${call_id} (${oneLine(message)})`)
      .join('; ')
    throw new BeaverError(
      'invalid_arguments',
      `${found.length} calls of the task ${taskId} ask a question. Name one with --call: ${names}`,
    )
  }
  return only ?? null
}

const noneAsks = async (connection: Connection, taskId: string): Promise<BeaverError> =>
  (await alreadySettledIn(connection, taskId, isAnswer)) ??
  new BeaverError(
    'not_found',
    `No call of the task ${taskId} asks a question. "${commandName()} answer" lists the questions that wait.`,
  )

const listMax = 200

const questionsOf = ({ client }: Connection, task?: string): Promise<QueryOutput<'questions'>> =>
  client.query('questions', { task_id: task, limit: listMax })

/** The deadline of a question, which few questions have. */
const untilColumn = {
  title: 'UNTIL',
  cell: (each: AskedQuestionAnswer) => (each.expires_at === null ? '' : moment(each.expires_at, Date.now())),
  optional: 3,
}

async function list(connection: Connection, screen: Screen, { json }: { json?: true }): Promise<number> {
  const waiting = await questionsOf(connection)
  const { questions, more } = waiting
  const [first] = questions
  if (json === true) screen.json({ questions, more })
  else if (first === undefined) screen.print('No question waits for an answer.')
  else {
    const brief = briefIds(questions.map((each) => each.task_id))
    const rows = table<AskedQuestionAnswer>(
      [
        {
          title: 'TASK',
          cell: (each) => oneLine(each.task_id),
          brief: (each) => oneLine(brief(each.task_id)),
        },
        { title: 'CALL', cell: (each) => oneLine(each.call_id), paint: screen.style.cyan },
        {
          title: 'SINCE',
          cell: (each) => (each.asked_at === null ? '' : moment(each.asked_at, Date.now())),
          optional: 2,
        },
        ...(questions.some((each) => each.expires_at !== null) ? [untilColumn] : []),
        { title: 'AGENT', cell: (each) => oneLine(each.agent_name ?? ''), optional: 1 },
        {
          title: 'ASKS',
          cell: (each) =>
            oneLine([each.message, ...each.options.map((option, i) => `${i + 1}) ${option}`)].join(' ')),
          flexible: true,
        },
      ],
      questions,
      { width: screen.columns, title: screen.style.dim },
    )
    screen.print(
      ...rows,
      '',
      ...answerCommands(
        {
          taskId: first.task_id,
          command: commandName(),
          name:
            questions.filter((each) => each.task_id === first.task_id).length > 1
              ? shellWord(first.call_id)
              : null,
        },
        questionIn(first),
        screen.columns,
      ),
    )
    if (more) screen.print(screen.style.dim('There are more.'))
  }
  await warnOfChangedRows(connection, screen)
  return 0
}
