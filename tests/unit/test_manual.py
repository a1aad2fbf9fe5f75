#!/usr/bin/env python3
"""test_manual.py SBXFS: the manual page and `sbxfs help` name every option that a command's table knows, and no other.

The tables are read from the sources, since no command prints its own; what is read is checked against the command itself."""
import pathlib, re, subprocess, sys

top = pathlib.Path(__file__).resolve().parents[2]
sbxfs = sys.argv[1]
failures = []


def expect(condition, sentence):
    if not condition:
        failures.append(sentence)


def source(path):
    return (top / path).read_text()


def table(path):
    """The options of struct sbx_option rows: {"name", 'n', SBX_OPTION_…"""
    return dict(re.findall(r'\{\s*"([a-z-]+)",\s*(?:0|\'(.)\'),\s*SBX_OPTION_', source(path)))


def help_of(command):
    return subprocess.run([sbxfs, "help", command], check=True, capture_output=True, text=True, timeout=20).stdout


manual = source("docs/sbxfs.1")
sections = {match[1]: match[2] for match in re.finditer(r"^\.S[hs] (.*)\n((?:(?!\.S[hs] ).*\n)*)", manual, re.M)}


def items(section):
    """The long and short options that the tags of a section name."""
    tags = "\n".join(re.findall(r"^\.It (.*)", sections[section], re.M))
    return {name for name in re.findall(r"(?:Fl|,) -([a-z-]+)", tags)}, set(re.findall(r"Fl ([a-z])\b", tags))


def manual_says(section, options):
    long, short = items(section)
    letters = {letter for letter in options.values() if letter}
    expect(long == set(options), f"{section}: the page names {sorted(long)}, the table {sorted(options)}")
    expect(short == letters, f"{section}: the page names the letters {sorted(short)}, the table {sorted(letters)}")


common = table("tools/options.c")
of_a_sandbox = table("tools/spec_options.c")
manual_says("Options of every command", common)
manual_says("Options of a sandbox", of_a_sandbox)

listed = subprocess.run([sbxfs, "help"], check=True, capture_output=True, text=True, timeout=20).stdout
commands = re.findall(r"^  ([a-z]+) ", listed, re.M)
expect(len(commands) >= 17, f"only {commands} are listed")
for command in commands:
    if command == "help":
        continue
    options = table(f"tools/{command}.c")
    manual_says(command, options)
    text = help_of(command)
    taken = dict(options, **(of_a_sandbox if command in ("create", "run") else {}))
    for name, letter in taken.items():
        expect(re.search(rf"(?<![a-z-])--{name}(?![a-z-])", text) or (letter and re.search(rf"(?<![a-z-])-{letter} ", text)),
               f"`sbxfs help {command}` does not say --{name}")
    for name in set(re.findall(r"(?<![a-z-])--([a-z][a-z-]*)", text)):
        answer = subprocess.run([sbxfs, command, f"--{name}="], capture_output=True, text=True, timeout=20).stderr
        expect("unknown option" not in answer, f"`sbxfs help {command}` says --{name}, which it does not take")

mount_options = set(re.findall(r'IS\("([a-z_]+)"\)', source("fs/options.c")))
expect(len(mount_options) > 15, f"only {mount_options} were found in fs/options.c")
documented = set(re.findall(r"\bLi ([a-z_]+)(?==|$)", "\n".join(re.findall(r"^\.It (.*)", sections["Mount options"], re.M)), re.M))
expect(documented == mount_options, f"Mount options: the page names {sorted(documented)}, the table {sorted(mount_options)}")
mount_help = help_of("mount")
for option in mount_options:
    expect(re.search(rf"(?<![a-z_]){option}(?![a-z_])", mount_help), f"`sbxfs help mount` does not say {option}")

keys = set(re.findall(r'strcmp\((?:key|word), "([a-z_]+)"\)', source("tools/config.c") + source("engine/sandbox/rules.c")))
expect({"url", "max_files", "workdir"} <= keys, f"only {keys} were found")
for key in keys:
    expect(re.search(rf"^{key} = ", sections["FILES"], re.M), f"FILES does not say the key {key}")

for failure in failures:
    print(failure)
sys.exit(bool(failures))
