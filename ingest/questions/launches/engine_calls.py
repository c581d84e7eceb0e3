"""Engines and trainers that Python makes, and the arguments that a server prints, as commands."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ingest.questions.launches.own_script import (
    ACCELERATED,
    ALONE,
    ANSWERING,
    DENOISING,
    LOADER,
    OWN,
    accelerated,
    answer_settings,
    answering,
    denoise_settings,
    denoising,
    loop_settings,
    own_settings,
    trains_itself,
)
from ingest.questions.launches.program import (
    ProgramSigns,
    StartedProgram,
    program_signs,
    started_program,
)
from ingest.questions.launches.script import UNKNOWN, ShellCommand, as_flags
from ingest.questions.launches.variables import DEVICE_LABELS
from kg.nouns.setting import SettingPlace
from kg.terms.setting_registry import registry, softwares

_VERSION = r"v?(\d+(?:\.\d+)+\w*)"
_MOST_LETTERS = 100_000
_MOST_DEPTH = 100
"""Nodes of a program in each other; a deeper one cannot be printed again."""
_OUTPUT = "output_dir"
"""First argument of those of a trainer: https://huggingface.co/docs/transformers/main_classes/trainer"""
_NO_MODELS = ("Tokenizer", "Processor", "Config", "Peft", "Extractor", "Scheduler")
"""Ends of the names of classes whose ``from_pretrained`` loads something beside a model."""
_ADAPTERS, _RANK, _USUAL_RANK = "use_peft", "lora_r", 8
"""Options of adapters, and the rank of peft's ``LoraConfig`` that states none."""
_LOADED = {"load_in_4bit": True, "load_in_8bit": True, "attn_implementation": None, "max_seq_length": None}
"""Arguments of what loads a model that are a trainer's options too, with the value that says something."""
_ENGINE, _LOADING, _DEVICE = "engine_kwargs", "model_loading_config", "accelerator_type"
_MODELS = ("model_source", "model_id")
"""Parts of an ``LLMConfig`` of Ray Serve: https://docs.ray.io/en/latest/serve/llm/index.html"""
RUN = ("accelerate", "launch", "train.py")
"""The command of a loop of the user's own that accelerate runs."""
_NO_LITERAL = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCall:
    """An engine that a program in Python makes, or the arguments of a trainer.

    Attributes:
        node: The call.
        signs: Of the engine or trainer.
        arguments: Each argument with the node of its value, the model among them.
        values: What those say; :data:`UNKNOWN` surrounds what is computed.
        holder: The dictionary that the rest of its arguments are in, ``**kwargs``; None without one.
        environment: Variables that the program sets.
        beside: What other calls say of the model that is trained, by the trainer's own options.
    """

    node: ast.Call
    signs: ProgramSigns
    arguments: Mapping[str, ast.expr]
    values: Mapping[str, object]
    holder: ast.Call | ast.Dict | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, object] = field(default_factory=dict)

    @property
    def _verb(self) -> str:
        """The command of the program that is for what is made: ``trl dpo`` of a ``DPOConfig``."""
        made = ast.unparse(self.node.func).rpartition(".")[2].lower().removesuffix("config")
        commands = self.signs.commands
        return next((one for one in commands if one.split()[-1] == made), commands[0])

    @property
    def command(self) -> ShellCommand:
        """The command that would start it."""
        signs = self.signs
        if signs.id in {OWN, *ALONE}:
            pairs = (f"{name}={value}" for name, value in {**self.beside, **self.values}.items())
            words: tuple[str, ...] = ("python", "-m", signs.starts, *pairs)
            return ShellCommand(words=words, line=self.node.lineno, environment=self.environment)
        begin = ["python", signs.scripts[0].replace("*", "")] if signs.scripts else [*RUN]
        begin = self._verb.split() if signs.commands else begin
        trains = signs.reader == "trainer"
        words = (*begin, *as_flags({**self.beside, **self.values}, states=trains))
        return ShellCommand(words=words, line=self.node.lineno, environment=self.environment)


def engine_calls(text: str) -> Iterator[ShellCommand]:
    """The engines that a program in Python makes, each as the command that would start it."""
    return (one.command for one in read_calls(text))


def with_called(command: ShellCommand, beside: Callable[[str], str | None]) -> ShellCommand:
    """A command that runs a program in Python beside it, with what that program makes in its place.

    Args:
        command: As it stands in a script.
        beside: Gives the text of a file by its name; None where it is not there.
    """
    for at, word in enumerate(command.words):
        text = beside(word) if word.endswith(".py") and UNKNOWN not in word else None
        if text is not None and (made := next(engine_calls(text), None)) is not None:
            is_own = made.words[1:3] == ("-m", program_signs()[OWN].starts)
            if is_own and isinstance(started_program(command.words), StartedProgram):
                return command  # by a name or options that say more
            begin = command.words[: at - (at > 0 and made.words[0] == command.words[at - 1])]
            if made.words[: len(RUN)] == RUN:  # its options stand behind the script
                begin, made = command.words[: at + 1], replace(made, words=made.words[len(RUN) :])
            words = (*begin, *made.words, *command.words[at + 1 :])
            return replace(command, words=words, environment={**command.environment, **made.environment})
    return command


def read_calls(text: str) -> Iterator[EngineCall]:
    """The engines that a program in Python makes, in their order; each is read when it is asked for."""
    if not any(f"{module}" in text for signs in program_signs().values() for module in signs.calls):
        return
    try:
        tree = ast.parse(text)
    except _NO_LITERAL:
        return
    nodes = _nodes(tree)
    constants = dict(_constants(nodes))
    environment = {name: value for name, value, _ in set_variables(nodes)}
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    packages = {
        alias.asname: alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.asname
    }
    found = []
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        module, name = _callee(node.func, imported)
        module = packages.get(module, module)
        for signs in program_signs().values():
            if name in signs.calls.get(module, ()):
                found.append((node, signs))
                break
    others = [one for one in found if one[1].id != OWN]
    trained = _trained(nodes, constants)
    is_loop = trains_itself(nodes)
    is_own = is_loop and "model_name_or_path" not in trained  # else a library's words say more
    found = others or (found[:1] if is_own else [])  # one loop has several loaders
    if is_loop and not found and (run := accelerated(nodes, imported)) is not None:
        said = {**trained, **loop_settings(nodes)}
        signs = program_signs()[ACCELERATED]
        yield EngineCall(node=run, signs=signs, arguments={}, values=said, environment=environment)
    is_alone = not (found or is_loop)
    if is_alone and (makes := denoising(nodes, imported)) is not None:
        said, signs = denoise_settings(nodes, makes), program_signs()[DENOISING]
        yield EngineCall(node=makes, signs=signs, arguments={}, values=said, environment=environment)
    elif is_alone and (answers := answering(nodes, imported)) is not None:
        said = {**trained, **answer_settings(nodes, imported)}
        signs = program_signs()[ANSWERING]
        yield EngineCall(node=answers, signs=signs, arguments={}, values=said, environment=environment)
    beside = trained if any(signs.reader == "trainer" for _, signs in found) else {}
    for node, signs in sorted(found, key=lambda one: (one[0].lineno, one[0].col_offset)):
        call = _call(signs, node, constants, environment)
        if signs.reader == "trainer":  # the command line of TRL has a switch for adapters
            adapted = {_ADAPTERS: True} if signs.commands and _RANK in beside else {}
            call = replace(call, beside={**beside, **adapted})
        if signs.id == OWN:
            told = {name: value for name, value in call.arguments.items() if name in LOADER}
            values = {"num_workers": 0} | {name: call.values[name] for name in told}
            whole = {alias: (name, "") for alias, name in packages.items()}
            own = {**beside, **own_settings(nodes, {**whole, **imported})}
            call = replace(call, arguments=told, values=values, beside=own)
        yield call


def _trained(nodes: Iterable[ast.AST], constants: Mapping[str, ast.expr]) -> dict[str, object]:
    """What a program says of the model that it trains, by options of Transformers and TRL.

    Its name is where it is loaded, or what a trainer is given as a text; adapters have a configuration.
    """
    found: dict[str, object] = {}
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        owner, _, name = ast.unparse(node.func).rpartition(".")
        named = {item.arg: _literal(item.value, constants) for item in node.keywords if item.arg}
        first = _literal(node.args[0], constants) if node.args else None
        if name == "from_pretrained" and not owner.endswith(_NO_MODELS):
            model = first or named.get("pretrained_model_name_or_path") or named.get("model_name")
        elif name.endswith("Trainer"):
            model = first or named.get("model")
        elif name in {"LoraConfig", "get_peft_model"}:
            rank = named.get("r")
            found[_RANK] = rank if isinstance(rank, int) else found.get(_RANK, _USUAL_RANK)
            model = None
        else:
            model = None
        if name == "gradient_checkpointing_enable" or named.get("use_gradient_checkpointing"):
            found["gradient_checkpointing"] = True
        if isinstance(model, str) and UNKNOWN not in model:
            found.setdefault("model_name_or_path", model)
        for option, value in _LOADED.items():
            said = named.get(option)
            if isinstance(said, str | int) and UNKNOWN not in str(said) and value in {None, said}:
                found.setdefault(option, said)
    return found


def _call(
    signs: ProgramSigns, node: ast.Call, constants: Mapping[str, ast.expr], environment: Mapping[str, str]
) -> EngineCall:
    arguments = {item.arg: item.value for item in node.keywords if item.arg}
    if node.args and (first := _OUTPUT if signs.reader == "trainer" else next(iter(signs.model), "")):
        arguments = {first: node.args[0], **arguments}
    holder: ast.Call | ast.Dict | None = None
    rests = [item.value for item in node.keywords if item.arg is None]
    if _ENGINE in arguments:  # Ray's LLMConfig: the rest of it is of the deployment
        loading = _entries(arguments.get(_LOADING), constants)[0]
        model = next((loading[name] for name in _MODELS if name in loading), None)
        if (device := _literal(arguments.get(_DEVICE, ast.Constant(None)), constants)) is not None:
            environment = {**environment, DEVICE_LABELS[0]: str(device)}
        rests = [arguments[_ENGINE]]
        arguments = {} if model is None else {signs.model[0]: model}
    for rest in rests:
        entries, named = _entries(rest, constants)
        holder = named or holder
        arguments |= entries
    return EngineCall(
        node=node,
        signs=signs,
        arguments=arguments,
        values={name: _literal(value, constants) for name, value in arguments.items()},
        holder=holder,
        environment=environment,
    )


def _entries(
    node: ast.expr | None, constants: Mapping[str, ast.expr]
) -> tuple[dict[str, ast.expr], ast.Call | ast.Dict | None]:
    """The entries of a dictionary by their names, and its node; none of what is something else."""
    named = constants.get(node.id) if isinstance(node, ast.Name) else node
    if isinstance(named, ast.Dict):
        pairs = zip(named.keys, named.values, strict=True)
        return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}, named
    if isinstance(named, ast.Call) and isinstance(named.func, ast.Name) and named.func.id == "dict":
        return {item.arg: item.value for item in named.keywords if item.arg}, named
    return {}, None


def logged_arguments(text: str) -> list[ShellCommand]:
    """The arguments that servers print when they start, each as the command that says the same."""
    found = []
    for signs in program_signs().values():
        for mark in signs.logs:
            for match in re.finditer(rf"{re.escape(mark)}([^\n]{{0,{_MOST_LETTERS}}})", text):
                line = match[1]
                values = _printed(line)
                if line.startswith("("):  # all that it has
                    values = _without_defaults(values, signs.id)
                if not values:
                    continue
                release = re.search(re.escape(signs.release) + _VERSION, text) if signs.release else None
                package = f"{signs.id}=={release[1]}" if release is not None else ""
                words = (*signs.commands[0].split(), *as_flags(values))
                line_number = text.count("\n", 0, match.start()) + 1
                found.append(ShellCommand(words=words, line=line_number, image=package))
    return found


def _without_defaults(values: Mapping[str, object], program: str) -> dict[str, object]:
    """The arguments that are not what the program does anyway: some print all that they have."""
    release = registry(program).at("") if program in softwares() else None

    def is_default(name: str, value: object) -> bool:
        if release is None or not isinstance(value, str | int | float):
            return False
        return release.look_up(f"--{name.replace('_', '-')}", SettingPlace.FLAG, suggest=False).is_default(
            value
        )

    return {name: value for name, value in values.items() if not is_default(name, value)}


def _printed(line: str) -> dict[str, object]:
    """Values by name of a printed dictionary or call; of a call those that are no defaults of anything."""
    call = line.startswith("(")
    for end in [at for at, letter in enumerate(line) if letter == (")" if call else "}")][-3:][::-1]:
        try:
            node = ast.parse(("f" if call else "") + line[: end + 1], mode="eval").body
            if isinstance(node, ast.Call):
                values = {item.arg: ast.literal_eval(item.value) for item in node.keywords if item.arg}
                return {name: value for name, value in values.items() if value not in (None, False)}
            content = ast.literal_eval(node)
        except _NO_LITERAL:
            continue
        return {str(name): value for name, value in content.items()} if isinstance(content, dict) else {}
    return {}


def _callee(function: ast.expr, imported: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Module and name of what is called: imported by name, or reached through its package."""
    if isinstance(function, ast.Name):
        return imported.get(function.id, ("", ""))
    if isinstance(function, ast.Attribute):
        return ast.unparse(function.value), function.attr
    return "", ""


def _literal(node: ast.expr, constants: Mapping[str, ast.expr]) -> object:
    named = constants.get(node.id, node) if isinstance(node, ast.Name) else node
    try:
        return ast.literal_eval(named)
    except _NO_LITERAL:
        return f"{UNKNOWN}{ast.unparse(node)[:60]}{UNKNOWN}"


def _nodes(tree: ast.Module) -> list[ast.AST]:
    """All nodes, met once, the outer ones first; none where they are too deep in each other."""
    found: list[ast.AST] = []
    level: list[ast.AST] = [tree]
    for _ in range(_MOST_DEPTH):
        found += level
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
        if not level:
            return found
    return []


def _constants(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def set_variables(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str, ast.Assign]]:
    """``os.environ["NAME"] = "value"``, with the statement."""
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            place = node.targets[0]
            if (
                isinstance(place.slice, ast.Constant)
                and isinstance(node.value, ast.Constant)
                and ast.unparse(place.value) == "os.environ"
            ):
                yield str(place.slice.value), str(node.value.value), node
