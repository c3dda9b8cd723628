// Questions that an agent asks a person, and their answers.
export { answerInForm, questionForm } from './question-form.ts'
export { answerInText, type FormField, formFields, questionLines, readAnswer } from './read-answer.ts'
export { answerFault, questionFault } from './question-fault.ts'
export { question, questionAnswer, type Question, type QuestionAnswer } from './question.ts'
export { askUserTool, questionBounds, takesFreeText } from './question-bounds.ts'
export {
  alreadySettled,
  type Answered,
  type Decided,
  isAnswer,
  isDecision,
  isSettled,
  type Said,
  saysTheSame,
  type Settled,
} from './settled.ts'
