// What a loop tells others of the trace of its task: the id of the span that its call of a model or of a tool
// will have. Spans are made later, from the journal, and the same ids come out.
import { outwardContext, type TraceContext } from '@beaver/core/trace'
import type { LoopWork } from './loop-work.ts'

interface Told {
  readonly trace?: TraceContext
}

/** For the next call of a model. Its number is known, because a run makes one after the other. */
export const traceOfModelCall = ({ spec: { trace }, start: { run_id: run }, run: state }: LoopWork): Told =>
  trace === undefined
    ? {}
    : { trace: outwardContext(trace, { kind: 'model', run, number: state().modelCalls }) }

/** For a call of a tool that the last answer asked for. The answer must be durable. */
export const traceOfToolCall = (
  { spec: { trace }, start: { run_id: run }, run: state }: LoopWork,
  call: string,
): Told =>
  trace === undefined
    ? {}
    : { trace: outwardContext(trace, { kind: 'call', run, seq: state().outputSeq, call }) }
