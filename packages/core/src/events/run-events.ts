// The events of a run of one AgentLoop: its prompt, its answers, its calls of tools, and how it ends.
import { z } from 'zod'
import { budgetMeasures } from '../budget/amounts.ts'
import { budgetName } from '../budget/budget.ts'
import { providerState, toolCall, usage } from '../chat.ts'
import { toolChoice } from '../client-tool.ts'
import { outputFault } from '../evidence/structured-output.ts'
import { failure } from '../failure/failure-class.ts'
import { runId, taskId, teamRunId } from '../ids.ts'
import { imagePart } from '../images/image-part.ts'
import { jsonObject } from '../json.ts'
import { modelSettings } from '../model-settings.ts'
import { question, questionAnswer } from '../question/question.ts'
import { taint } from '../taint/taint.ts'
import { callPreview, foundFile } from './call-preview.ts'
import { asker, ownTask, reason } from './task-events.ts'

const count = z.number().int().nonnegative()

const contextPart = z.object({
  part: z
    .enum([
      'base',
      'session',
      'execution',
      'profile',
      'memory',
      'routing',
      'skills',
      'history',
      'message',
      'tools',
    ])
    .describe('The part of the prompt.'),
  tokens_estimated: count.describe('Its size in tokens, as Beaver estimates it.'),
})
/** The size of one part of the first prompt, in estimated tokens. */
export type ContextPart = z.infer<typeof contextPart>

const copiedFrom = z
  .object({
    task_id: taskId.describe('The task that has the first event.'),
    taskseq: z.number().int().positive().describe('The place of the first event in the log of that task.'),
  })
  .optional()
  .describe(
    'The event of which this event is a copy. The copy has a usage of 0, because the first task paid for the call. Absent: it is no copy.',
  )
const attemptIndex = z
  .number()
  .int()
  .positive()
  .describe('The number of the attempt at the task: 1, and one more for each retry.')
const callId = z.string().describe('The id of the call.')
const toolName = z.string().describe('The name of the tool.')
/** Absent: an older version wrote the event. */
const callHash = z
  .string()
  .optional()
  .describe(
    'The SHA-256 of the canonical call: its tool, its arguments, and what it would change. The decision is about the call with this hash.',
  )
const toolIterations = count.describe('How many turns of the run called tools.')
const runUsage = usage.describe('What all calls of models in the run used.')

export const runEvents = {
  run_started: z
    .object({
      run_id: runId.describe('The id of the run.'),
      parent_run_id: runId.nullable().describe('The run that called the team. null: the run has no parent.'),
      attempt_index: attemptIndex,
      agent_name: z.string().describe('The name of the agent.'),
      team_run_id: teamRunId
        .nullable()
        .describe('The team run to which the run belongs. null: it belongs to no team.'),
      node_id: z
        .string()
        .nullable()
        .describe('The node to which the run belongs. null: it belongs to no team.'),
      source: z
        .string()
        .describe(
          'Who asked for the run: the source of the request, or "team:" with the id of the team run.',
        ),
      max_tool_iterations: z.number().int().positive().describe('How many turns of the run may call tools.'),
      repeats_max: z
        .number()
        .int()
        .min(2)
        .optional()
        .describe('How many turns in a row may be the same before the run fails. Absent: there is no bound.'),
      tools: z.array(z.string()).describe('The names of the tools that the run has.'),
      model: z
        .string()
        .optional()
        .describe('The name of the model of the run in the configuration. Absent: the main model.'),
      model_settings: modelSettings
        .optional()
        .describe('How the run asks its model, beyond what the endpoint sets. Absent: as the endpoint sets.'),
      output_schema: jsonObject
        .optional()
        .describe("The JSON Schema of the run's final answer. Absent: any text."),
      tool_choice: toolChoice
        .optional()
        .describe('Which tools the run must call in its first answer. Absent: it chooses.'),
      taint: taint
        .optional()
        .describe("The labels of what the run is given. Absent: it is given a person's words alone."),
    })
    .describe('A run of an agent or of a tool node began.'),
  tool_scope_applied: z
    .object({
      allowed: z.array(z.string()).describe('The tools that the node allows.'),
      effective: z.array(z.string()).describe('The tools that the run has.'),
      dropped: z.array(z.string()).describe('The tools that the run would have without the limit.'),
    })
    .describe('Beaver limited the tools of a run to those that are allowed.'),
  tools_left_out: z
    .object({
      provider_name: z.string().describe('The name of the provider.'),
      tools: z
        .array(
          z.object({
            name: toolName,
            reason: z.string().describe('What the provider said about its schema.'),
          }),
        )
        .min(1)
        .describe('The tools.'),
    })
    .describe(
      'A provider refused the schemas of tools. The requests of the run to this provider do not have them from now on.',
    ),
  skill_selection_recorded: z
    .object({
      query: z.string().describe('What Beaver searched for.'),
      recall: z.enum(['embedding', 'lexical']).describe('How Beaver searched: by embeddings or by words.'),
      candidates: z
        .array(
          z.object({
            name: z.string().describe('The name of the skill.'),
            score: z.number().describe('How well it fits. A higher number is better.'),
          }),
        )
        .describe('The skills that the search found, best first.'),
      chosen: z.array(z.string()).describe('The names of the skills that the model chose.'),
      usage: usage.describe('What the choice used.'),
      provider_name: z.string().nullable().describe('The provider that answered. null: none answered.'),
      model: z.string().nullable().describe('The model that answered. null: none answered.'),
      failure: failure
        .nullable()
        .describe('Why the model could not be asked. null: it answered, or nothing had to be asked.'),
      failed_calls: z
        .array(
          z.object({
            usage: usage.describe('What the call used.'),
            provider_name: z.string().describe('The provider that answered.'),
            model: z.string().describe('The model that answered.'),
          }),
        )
        .optional()
        .describe('Calls before that which were paid and gave no choice. Absent: there were none.'),
      copied_from: copiedFrom,
    })
    .describe('Beaver searched for a skill: what the search found, and what the model chose.'),
  skill_activation_snapshotted: z
    .object({
      skills: z
        .array(
          z.object({
            name: z.string().describe('The name of the skill.'),
            sha256: z.string().describe('The SHA-256 of its text, in hexadecimal digits.'),
            content: z.string().describe('Its text.'),
            from_workspace: z
              .boolean()
              .optional()
              .describe(
                'Whether it was found in the workspace of the task, and nobody configured it. Absent: no.',
              ),
          }),
        )
        .describe('The skills.'),
    })
    .describe('Skills became active.'),
  system_prompt_snapshotted: z
    .object({
      content: z.string().describe('The system prompt.'),
      context: z
        .array(contextPart)
        .optional()
        .describe('The size of each part of the first prompt. Absent: it was not estimated.'),
    })
    .describe('The run received its system prompt.'),
  user_message_added: z
    .object({
      content: z.string().describe('The message.'),
      steer_request_id: z
        .string()
        .optional()
        .describe(
          'The request_id of the task_steer_requested whose text it is. Absent: the message with which the run began.',
        ),
      images: z.array(imagePart).optional().describe('What the message shows. Absent: no image.'),
    })
    .describe('The run received its message, or a text with which somebody steers the task.'),
  execution_mode_selected: z
    .object({
      task_id: ownTask,
      attempt_index: attemptIndex,
      execution_mode: z
        .enum(['team', 'single'])
        .describe('team: the agent called a workflow tool. single: it works alone.'),
      routing_source: z
        .literal('main_agent_first_turn')
        .describe('What made the choice: the first answer of the root agent.'),
      primary_template_skill: z.string().describe('The skill whose guidance the agent had.'),
      ignored_template_skills: z
        .array(z.string())
        .describe('Other active skills with guidance, which the agent did not have.'),
      workflow_tool: z
        .string()
        .nullable()
        .describe('The workflow tool that the agent called. null: it called none.'),
      content: z.null().describe('Always null.'),
    })
    .describe('The root agent chose a team, or to work alone, in its first answer.'),
  provider_call_failed: z
    .object({
      failure: failure.describe('What failed.'),
      tries: z.number().int().positive().describe('The number of this try since the last answer, from 1.'),
      retry_in_ms: count
        .nullable()
        .describe(
          'The pause before the next try, in milliseconds. 0: the next model of the route is asked at once. null: there is no further try.',
        ),
      status: z.number().nullable().describe('The HTTP status of the answer. null: there was no answer.'),
      provider_name: z.string().optional().describe('The provider that was asked.'),
      duration_ms: count.optional().describe('How long the try took, in milliseconds.'),
      usage: usage
        .optional()
        .describe(
          'The tokens of an answer that could not be used, such as one that was broken off. Absent: nothing.',
        ),
      model: z.string().optional().describe('The model that gave this answer.'),
    })
    .describe('A call of a model failed, or was cancelled when it was under way.'),
  model_call_reserved: z
    .object({
      provider_name: z.string().describe('The provider that is asked.'),
      model: z.string().describe('The model that is asked, as the configuration names it.'),
      input_tokens_max: count.describe('The most tokens that the request can have.'),
      output_tokens_max: count.describe(
        'The tokens of the answer that are reserved. The request bounds the answer to them if it is bounded by itself, or if the longest answer would not fit.',
      ),
      usd_max: z.number().min(0).describe('The most that the call can cost, in US dollars.'),
      day: z
        .string()
        .optional()
        .describe(
          'The day (YYYY-MM-DD, UTC) in whose budgets it is reserved. Absent: no budget of a day or a month applies.',
        ),
    })
    .describe(
      'The largest amounts that the next call of a model can use are reserved in the budgets. The next event about the outcome of the call settles them.',
    ),
  model_call_lost: z
    .object({
      provider_name: z.string().describe('The provider that was asked.'),
      model: z.string().describe('The model that was asked.'),
      usage: usage.describe('What the call used at most.'),
    })
    .describe(
      'The process or the thread of the run ended while a call of a model was under way. Nobody knows its answer or its cost, so it counts with what was reserved.',
    ),
  model_call_paid: z
    .object({
      purpose: z
        .enum(['skill_selection', 'knowledge_search'])
        .describe(
          'What the call was for. skill_selection: embeddings of skills, or a choice of skills that failed. knowledge_search: embeddings of a query.',
        ),
      provider_name: z.string().describe('The provider that answered.'),
      model: z.string().describe('The model that answered.'),
      usage: usage.describe('What the call used.'),
    })
    .describe('A call of a model was paid beside the conversation of the run.'),
  budget_exceeded: z
    .object({
      budget: budgetName.describe('The budget.'),
      measure: z.enum(budgetMeasures).describe('What is used up.'),
      limit: z.number().describe('The limit, in US dollars, tokens, calls or milliseconds.'),
      used: z.number().describe('What was used.'),
      needed: z.number().describe('The least that the next call needs.'),
      spent_by: z
        .array(
          z.object({
            agent_name: z
              .string()
              .optional()
              .describe('The name of the agent. Absent: the budget is one that tasks share.'),
            node_id: z.string().nullable().describe('The node of the agent. null: it belongs to no team.'),
            task_id: z
              .string()
              .optional()
              .describe('The task that used it, of a budget that tasks share. Absent: this task.'),
            used: z.number().describe('What it used.'),
          }),
        )
        .describe('Who used most, the first one most. At most three.'),
      wait_ms: count
        .nullable()
        .describe(
          'For how many milliseconds a person may give more. null: nobody is waited for, and the run ends.',
        ),
    })
    .describe('A call does not fit into a budget. The run waits for more, or ends.'),
  context_compacted: z
    .object({
      results: z
        .array(
          /**
           * `team`: the result is that of a team, which is read again by the id of the call, because the call
           * again would run the team again.
           */
          z.object({
            call_id: callId,
            tool_name: toolName,
            chars: count.describe('The number of characters (UTF-16 units) of the result.'),
            kept_chars: count
              .optional()
              .describe('How many of these characters the model still receives. Absent: none.'),
            team: z
              .boolean()
              .optional()
              .describe(
                'Whether a team wrote the result. If so, the model reads it again with team_output. Absent: no team wrote it.',
              ),
          }),
        )
        .describe('The tool results that the model no longer receives.'),
      arguments: z
        .array(
          z.object({
            call_id: callId,
            tool_name: toolName,
            chars: count.describe('The number of characters (UTF-16 units) of the arguments.'),
          }),
        )
        .optional()
        .describe('The calls whose arguments the model no longer receives. Absent: none.'),
      history_messages_dropped: count
        .optional()
        .describe(
          "How many of the oldest messages of the session's history the model no longer receives. Absent: as many as before.",
        ),
      messages_dropped: z
        .number()
        .int()
        .positive()
        .optional()
        .describe(
          "No summary could be had, so a note takes the place of so many messages that follow the run's own first message. Absent: none are left out.",
        ),
      outputs: z
        .array(
          z.object({
            index: count.describe('The place of the output among those in the message, from 0.'),
            node_id: z
              .string()
              .optional()
              .describe('The node. Absent: the output is part of an instruction, which does not name it.'),
            chars: count.describe('The number of characters (UTF-16 units) of the output.'),
            kept_chars: count.describe('How many of these characters the model still receives.'),
          }),
        )
        .optional()
        .describe("The outputs of other nodes in the run's own message that were cut. Absent: none."),
      images: z
        .array(
          z.object({
            call_id: z
              .string()
              .nullable()
              .describe('The call whose result had the image. null: the message with which the run began.'),
            sha256: z.string().describe('The SHA-256 of the content.'),
          }),
        )
        .optional()
        .describe('The images that the model is no longer shown. Absent: none.'),
    })
    .describe(
      'The conversation was too long for the model, so references replace older tool results, or outputs of other nodes are cut, from here on.',
    ),
  context_summarized: z
    .object({
      content: z.string().describe('The summary.'),
      messages_dropped: z
        .number()
        .int()
        .positive()
        .describe("How many messages it replaces. They are the first ones after the run's own message."),
      usage: usage.describe('What the summary used.'),
      provider_name: z.string().describe('The provider that wrote the summary.'),
      model: z.string().describe('The model that wrote the summary.'),
      copied_from: copiedFrom,
    })
    .describe('The conversation was still too long, so a summary replaces older turns from here on.'),
  summary_refused: z
    .object({
      reason: z.string().describe('Why the answer is no summary.'),
      usage: usage.describe('What the answer used.'),
      provider_name: z.string().describe('The provider that gave the answer.'),
      model: z.string().describe('The model that gave the answer.'),
      copied_from: copiedFrom,
    })
    .describe(
      'A model was asked for a summary of older turns, and its answer is none. The conversation stays as it was. After two of them, Beaver leaves the older turns out without a summary.',
    ),
  /** Only an answer with tool calls has a `provider_state`. `delivered_from`: D-61. */
  assistant_message_added: z
    .object({
      content: z
        .string()
        .nullable()
        .describe('The text of the answer. null: the model sent only tool calls.'),
      tool_calls: z.array(toolCall).describe('The tool calls of the answer.'),
      finish_reason: z.string().describe('Why the model stopped, as the provider says it.'),
      usage: usage.describe('What the call used.'),
      provider_name: z.string().describe('The provider that answered.'),
      model: z.string().describe('The model that answered.'),
      response_id: z.string().nullable().describe("The provider's id of the answer. null: it sent none."),
      duration_ms: count.describe('How long the call took, in milliseconds.'),
      provider_state: providerState
        .optional()
        .describe(
          'What goes back to the provider with the answer. Other providers do not get it. Absent: nothing.',
        ),
      copied_from: copiedFrom,
      delivered_from: teamRunId
        .optional()
        .describe(
          'The team whose final output this answer is, word for word. No model wrote it. Absent: a model answered.',
        ),
    })
    .describe('A model answered.'),
  output_rejected: z
    .object({
      faults: z.array(outputFault).min(1).describe('What does not fit.'),
      must_call: z
        .literal(true)
        .optional()
        .describe('The answer calls no tool, and the task asks for a call. Absent: its form does not fit.'),
    })
    .describe(
      'The last answer does not fit the JSON Schema of the run, or calls no tool although the task asks for a call. The model is asked once more.',
    ),
  /** Only the run of a tool node has this event. */
  tool_call_requested: z
    .object({ call: toolCall.describe('The call.') })
    .describe('The graph asks for a tool call, without a model.'),
  approval_requested: z
    .object({
      call_id: callId,
      tool_name: toolName,
      subject: z
        .string()
        .describe('What the call would act on, in the form that the patterns of permissions match.'),
      rule: z
        .string()
        .nullable()
        .describe('The permission rule that asks. null: the tool itself asks, or what the run has read.'),
      reason: z
        .string()
        .optional()
        .describe('Why the call asks because of what the run has read. Absent: it asks for another reason.'),
      call_hash: callHash,
      preview: callPreview.optional().describe('What the call would change. Absent: the tool cannot say it.'),
    })
    .describe('A tool call waits for a person.'),
  approval_granted: z
    .object({
      call_id: callId,
      by: z.string().describe('Who decided.'),
      call_hash: callHash,
      arguments: z
        .string()
        .optional()
        .describe(
          'The arguments as the person changed them, the text of a JSON object. The call is made with them. Absent: they were not changed.',
        ),
      user_id: asker.user_id,
    })
    .describe('A person allowed a tool call.'),
  approval_denied: z
    .object({
      call_id: callId,
      by: z.string().describe('Who decided.'),
      call_hash: callHash,
      reason: z.string().describe('Why. The model receives this text.'),
      user_id: asker.user_id,
    })
    .describe('A person or a rule refused a tool call.'),
  tool_call_started: z
    .object({
      call_id: callId,
      tool_name: toolName,
      idempotent: z.boolean().describe('Whether Beaver may repeat the call after a crash.'),
    })
    .describe('A tool call began.'),
  tool_result_recorded: z
    .object({
      call_id: callId,
      tool_name: toolName,
      success: z.boolean().describe('Whether the call succeeded.'),
      content: z.string().describe('The result that the model receives.'),
      error: z
        .string()
        .nullable()
        .describe(
          'The code of the error, such as tool_crash, invalid_arguments or in_doubt. null: the call succeeded.',
        ),
      duration_ms: count.describe('How long the call took, in milliseconds.'),
      taint: taint
        .optional()
        .describe("The labels of the result. Absent: the result is the user's own text."),
      images: z.array(imagePart).optional().describe('What the call shows to the model. Absent: no image.'),
    })
    .describe('A tool call ended.'),
  /** A call asks one question after the other. */
  question_asked: z
    .object({
      call_id: callId,
      tool_name: toolName,
      question_index: count.describe('The number of the question in the call, from 0.'),
      question: question.describe('The question.'),
    })
    .describe('A running tool call asks a person.'),
  question_answered: z
    .object({
      call_id: callId,
      question_index: count.describe('The number of the question in the call.'),
      answer: questionAnswer.describe('The answer.'),
      by: z.string().describe('Who answered. beaver: nobody could answer, or nobody did in time.'),
      reason: z.string().optional().describe('Why there is no answer. Absent: no reason was given.'),
      user_id: asker.user_id,
    })
    .describe('A question has an answer, or nobody can answer it.'),
  client_call_requested: z
    .object({ call_id: callId, tool_name: toolName })
    .describe(
      'A call of a tool of the client waits for the client. The answer of the model has its arguments.',
    ),
  client_call_answered: z
    .object({
      call_id: callId,
      content: z.string().describe('The result of the call, as the client gives it.'),
      error: z
        .string()
        .optional()
        .describe('Why the client could not make the call. Absent: it made the call.'),
      tool_choice: toolChoice
        .optional()
        .describe(
          'Which tools the run must call in its next answer. The last answer to a call counts. Absent: as the task asks.',
        ),
      by: z.string().describe('Who answered.'),
      user_id: asker.user_id,
    })
    .describe('The client answered a call of its tool.'),
  workspace_files_checked: z
    .object({ files: z.array(foundFile).describe('What Beaver found after the last answer of the run.') })
    .describe('Beaver looked in the workspace for the files that the evidence of a node names.'),
  run_completed: z
    .object({
      finish_reason: z.string().describe('Why the model stopped, as the provider says it.'),
      tool_iterations: toolIterations,
      usage: runUsage,
    })
    .describe('A run completed.'),
  run_failed: z
    .object({
      failure: failure.describe('Why the run failed.'),
      tool_iterations: toolIterations,
      usage: runUsage,
    })
    .describe('A run failed.'),
  run_cancelled: z
    .object({ reason, tool_iterations: toolIterations, usage: runUsage })
    .describe('A run was cancelled.'),
  run_restarted: z
    .object({
      failure: failure.describe('What happened to the thread.'),
      restarts: z.number().int().positive().describe('The number of this restart, from 1.'),
      suspect_tools: z
        .array(z.string())
        .optional()
        .describe('The tools with calls at work in the lost thread. Absent: there were none.'),
    })
    .describe('A run starts again, because its worker thread was lost.'),
}
